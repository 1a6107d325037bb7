package accesslog_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry/accesslog"
)

// clock waits for the clock of a synctest bubble.
func clock(d time.Duration) {
	<-time.NewTimer(d).C
	synctest.Wait()
}

func leave(log *accesslog.Log, requests int) {
	for range requests {
		record := answered()
		log.Began(record, request(http.Header{}))
		log.Finished(record)
	}
}

func TestLinesAreThereSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		blocks := make(chan []byte, 100)
		log, stop := running(t, config("json", nil), accesslog.Options{Stdout: writer(func(p []byte) (int, error) {
			blocks <- slices.Clone(p)
			return len(p), nil
		})})
		for _, requests := range []int{1, 5, 1} {
			began := time.Now()
			leave(log, requests)
			if lines := strings.Count(string(<-blocks), "\n"); lines != requests {
				t.Errorf("%d lines are written at once, want %d", lines, requests)
			}
			if took := time.Since(began); took > 250*time.Millisecond {
				t.Errorf("a line is there after %s", took)
			}
		}
		began := time.Now()
		leave(log, 700) // More than 512 KiB.
		if block := <-blocks; len(block) > 512<<10 || len(block) < 256<<10 || time.Since(began) != 0 {
			t.Errorf("%d bytes are written after %s", len(block), time.Since(began))
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestAReaderThatStandsStill has a writer that does not return until it is let go.
func TestAReaderThatStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		letGo := make(chan struct{})
		var out sink
		logger := recorder{lines: make(chan string, 10)}
		c := config("json", func(c *static.AccessLog) { c.BufferingSize = 10 })
		log, stop := running(t, c, accesslog.Options{Logger: logger, Stdout: writer(func(p []byte) (int, error) {
			<-letGo
			return out.Write(p)
		})})
		leave(log, 1)
		clock(time.Second) // The writer stands still with that line.
		leave(log, 25)
		if dropped := log.Dropped(); dropped != 15 {
			t.Errorf("%d lines are dropped, want 15", dropped)
		}
		clock(time.Minute)
		if len(logger.lines) != 1 || <-logger.lines != "access log lines are dropped" {
			t.Errorf("the log does not have one line that lines are dropped")
		}
		close(letGo)
		clock(time.Minute)
		if written := strings.Count(out.String(), "\n"); written != 11 {
			t.Errorf("%d lines are written in the end, want 11", written)
		}
		leave(log, 1)
		clock(time.Minute)
		if len(logger.lines) != 1 || <-logger.lines != "access log lines are written again" {
			t.Errorf("the log does not have one line that lines are written again")
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestAWriterThatNeverReturns ends the log while its writer stands still.
func TestAWriterThatNeverReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		letGo := make(chan struct{})
		log, stop := running(t, config("json", nil), accesslog.Options{Stdout: writer(func(p []byte) (int, error) {
			<-letGo
			return len(p), nil
		})})
		leave(log, 1)
		clock(time.Second)
		leave(log, 4)
		began := time.Now()
		if err := stop(); err == nil || !strings.Contains(err.Error(), "5 lines could not be written") {
			t.Errorf("the log ends with %v", err)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("the log ends after %s, want a second", took)
		}
		if dropped := log.Dropped(); dropped != 5 {
			t.Errorf("%d lines are dropped, want 5", dropped)
		}
		close(letGo)
	})
}

// TestTornLines has a disk that becomes full within a line, and empty again.
func TestTornLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out sink
		full := false
		logger := recorder{lines: make(chan string, 10)}
		log, stop := running(t, config("common", nil), accesslog.Options{
			Logger: logger,
			Stdout: writer(func(p []byte) (int, error) {
				if !full {
					return out.Write(p)
				}
				first := strings.Index(string(p), "\n") + 11
				_, _ = out.Write(p[:first])
				return first, syscall.ENOSPC
			}),
		})
		full = true
		leave(log, 3)
		clock(time.Second)
		if dropped := log.Dropped(); dropped != 2 {
			t.Errorf("%d lines are dropped, want 2", dropped)
		}
		full = false
		leave(log, 2)
		clock(time.Minute)
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) != 4 || len(lines[1]) != 10 || !strings.HasPrefix(lines[2], "192.0.2.7 - ada [") {
			t.Errorf("a torn line is not ended:\n%s", out.String())
		}
		if len(logger.lines) != 2 {
			t.Errorf("the log has %d lines, want two", len(logger.lines))
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestAFullDisk(t *testing.T) {
	logger := recorder{lines: make(chan string, 1)}
	c := config("json", func(c *static.AccessLog) { c.FilePath = "/dev/full" })
	log, stop := running(t, c, accesslog.Options{Logger: logger})
	leave(log, 3)
	if got := <-logger.lines; got != "access log lines are dropped" {
		t.Errorf("the log has %q", got)
	}
	if dropped := log.Dropped(); dropped != 3 {
		t.Errorf("%d lines are dropped, want 3", dropped)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestAClosedPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close() //nolint:errcheck // Nothing is to be read from it.
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	logger := recorder{lines: make(chan string, 1)}
	log, stop := running(t, config("json", nil), accesslog.Options{Logger: logger, Stdout: w})
	leave(log, 2)
	<-logger.lines
	if dropped := log.Dropped(); dropped != 2 {
		t.Errorf("%d lines are dropped, want 2", dropped)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// TestANamedPipeWithoutAReader is opened at once, fills up, and does not keep the log from ending.
func TestANamedPipeWithoutAReader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "access.fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	logger := recorder{lines: make(chan string, 10)}
	c := config("json", func(c *static.AccessLog) { c.FilePath, c.BufferingSize = path, 100 })
	log, stop := running(t, c, accesslog.Options{Logger: logger})
	for log.Dropped() == 0 {
		leave(log, 10)
	}
	if got := <-logger.lines; got != "access log lines are dropped" {
		t.Errorf("the log has %q", got)
	}
	if err := stop(); err == nil {
		t.Error("the log says nothing of the lines that it could not write")
	}
}

func TestReopen(t *testing.T) {
	folder := t.TempDir()
	path, moved := filepath.Join(folder, "logs", "access.log"), filepath.Join(folder, "access.log.1")
	lines := func(path string) int {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(content), "\n")
	}
	synctest.Test(t, func(t *testing.T) {
		logger := recorder{lines: make(chan string, 10)}
		log, stop := running(t, config("json", func(c *static.AccessLog) { c.FilePath = path }),
			accesslog.Options{Logger: logger})
		leave(log, 2)
		clock(time.Second)
		if err := os.Rename(path, moved); err != nil {
			t.Fatal(err)
		}
		leave(log, 1)
		clock(time.Second)
		log.Reopen()
		synctest.Wait()
		leave(log, 4)
		clock(time.Second)
		if before, after := lines(moved), lines(path); before != 3 || after != 4 {
			t.Errorf("%d lines are in the file that was moved and %d in the new one, want 3 and 4", before, after)
		}
		if err := os.RemoveAll(filepath.Dir(path)); err != nil {
			t.Fatal(err)
		}
		log.Reopen()
		synctest.Wait()
		if len(logger.lines) != 1 {
			t.Error("the log does not report that a file cannot be opened")
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestManyAtOnce demands of each request one whole line.
func TestManyAtOnce(t *testing.T) {
	var out sink
	var dropped uint64
	const goroutines, each = 8, 400
	// In a bubble the second that Run has for what waits does not pass while the writer is at work.
	synctest.Test(t, func(t *testing.T) {
		log, stop := running(t, config("json", func(c *static.AccessLog) { c.Fields.Headers.DefaultMode = "keep" }),
			accesslog.Options{Stdout: &out})
		var group sync.WaitGroup
		for g := range goroutines {
			group.Go(func() {
				own := strings.Repeat(string(rune('a'+g)), 10+g)
				for range each {
					record := answered()
					record.Router = own
					log.Began(record, request(http.Header{"X-Own": {own}, "X-Forwarded-For": {own}}))
					log.Finished(record)
				}
			})
		}
		group.Wait()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		dropped = log.Dropped()
	})
	counts := map[float64]bool{}
	ids := map[any]bool{}
	for line := range strings.Lines(out.String()) {
		members := object(t, line)
		if members["RouterName"] != members["request_X-Own"] || members["RouterName"] != members["ClientHost"] {
			t.Fatalf("a line is of several requests: %s", line)
		}
		counts[members["RequestCount"].(float64)] = true
		ids[members["RequestId"]] = true
	}
	if len(counts) != goroutines*each || len(ids) != goroutines*each || dropped != 0 {
		t.Errorf("%d lines and %d ids of %d requests, %d are dropped", len(counts), len(ids), goroutines*each, dropped)
	}
}

// errBroken is what broken destinations say.
var errBroken = errors.New("broken")
