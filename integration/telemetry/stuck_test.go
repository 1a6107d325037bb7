package telemetry

import (
	"bufio"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// changes is how many times a request, or the end of Sluice, waits for a goroutine or a process to run, about.
const changes = 6

// load sends requests over every protocol, none of which may wait.
func (w *world) load(t *testing.T, requests int) {
	t.Helper()
	protocols := harness.Protocols()
	stop := harness.Stalls(t)
	var all sync.WaitGroup
	var worst atomic.Int64
	for _, protocol := range protocols {
		client := w.client(t, protocol, "shop.test")
		all.Go(func() {
			for range requests / len(protocols) {
				began := time.Now()
				if answer, err := client.Try(client.Request(http.MethodGet, "/bytes?size=10", nil)); err != nil ||
					answer.StatusCode != http.StatusOK {
					t.Errorf("%s: %v", protocol, err)
					return
				}
				for took := int64(time.Since(began)); ; {
					if before := worst.Load(); before >= took || worst.CompareAndSwap(before, took) {
						break
					}
				}
			}
		})
	}
	all.Wait()
	stalled := stop()
	if took := time.Duration(worst.Load()); took > 2*time.Second+changes*stalled {
		t.Errorf("a request took %v; the machine stood still for %v", took, stalled)
	}
}

// dropped returns how many lines are counted as dropped.
func (w *world) dropped(t *testing.T, signal string) int {
	t.Helper()
	return int(w.scrape(t).value("sluice_telemetry_dropped_total", "signal="+signal))
}

// times counts the lines of Sluice's log that hold the words.
func (w *world) times(words string) int { return strings.Count(w.sluice.Log.String(), words) }

// ends stops Sluice, which must not take long.
func (w *world) ends(t *testing.T) {
	t.Helper()
	began, stop := time.Now(), harness.Stalls(t)
	w.sluice.Stop()
	stalled := stop()
	if took := time.Since(began); took > 10*time.Second+changes*stalled {
		t.Errorf("the end took %v; the machine stood still for %v", took, stalled)
	}
}

const stuckOptions = `
metrics: {prometheus: {}}
accessLog: {format: json, bufferingSize: 200, filePath: "${FILE}"}
`

// TestTheDiskIsFull logs to a device on which there is never room.
func TestTheDiskIsFull(t *testing.T) {
	t.Parallel()
	w := start(t, stuckOptions+"log: {filePath: /dev/stderr}\n", map[string]string{"FILE": "/dev/full"})
	const requests = 1000
	w.load(t, requests)
	harness.Until(t, "every line is counted as dropped", func() bool { return w.dropped(t, "access_log") >= requests })
	w.ends(t)
	if n := w.times("access log lines are dropped"); n != 1 {
		t.Errorf("the log says so %d times:\n%s", n, w.sluice.Log)
	}
}

// pipe makes a named pipe with a reader that has it open and does not read.
func pipe(t *testing.T) (string, *os.File) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reader.Close() })
	return name, reader
}

// TestTheReaderStandsStill logs into a pipe whose reader reads nothing for a while, and then everything.
func TestTheReaderStandsStill(t *testing.T) {
	t.Parallel()
	name, reader := pipe(t)
	w := start(t, stuckOptions, map[string]string{"FILE": name})
	const requests = 4000
	w.load(t, requests)
	harness.Until(t, "lines are dropped", func() bool { return w.dropped(t, "access_log") > 0 })
	read, arrived := make(chan int), make(chan struct{}, 1)
	go func() {
		n := 0
		for scanner := bufio.NewScanner(reader); scanner.Scan(); {
			if strings.Contains(scanner.Text(), `"RouterName":"shop@file"`) && strings.HasSuffix(scanner.Text(), "}") {
				n++
			}
			if strings.Contains(scanner.Text(), "/last") {
				select {
				case arrived <- struct{}{}:
				default:
				}
			}
		}
		read <- n
	}()
	w.load(t, 40) // The collector reads again.
	// Lines follow their responses, and are dropped until there is room. Once a late one has arrived, there is.
	sent := requests + 40
	client := w.client(t, harness.H1, "shop.test")
	harness.Until(t, "no more lines are dropped", func() bool {
		client.Get("/last")
		sent++
		select {
		case <-arrived:
			return true
		default:
			return false
		}
	})
	lost := w.dropped(t, "access_log")
	w.ends(t)
	if n := harness.Await(t, read, "the end of the pipe"); n+lost < sent || n < 40 {
		t.Errorf("%d lines were read and %d dropped of %d", n, lost, sent)
	}
	if n := w.times("access log lines are dropped"); n != 1 {
		t.Errorf("the log says so %d times:\n%s", n, w.sluice.Log)
	}
}

// TestNoReaderAtAll ends Sluice while its access log waits for a reader.
func TestNoReaderAtAll(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	w := start(t, stuckOptions, map[string]string{"FILE": name})
	w.load(t, 2000)
	harness.Until(t, "lines are dropped", func() bool { return w.dropped(t, "access_log") > 0 })
	w.sluice.Signal(syscall.SIGUSR1)
	w.load(t, 40)
	w.ends(t)
}

// TestStandardOutputIsClosed has the reader of standard output go away.
func TestStandardOutputIsClosed(t *testing.T) {
	t.Parallel()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = writer.Close() }()
	w := startWith(t, harness.Setup{
		Static: staticFile + "metrics: {prometheus: {}}\naccessLog: {format: json}\n",
		Stdout: writer,
	})
	_ = reader.Close()
	const requests = 400
	w.load(t, requests)
	harness.Until(t, "every line is counted as dropped", func() bool { return w.dropped(t, "access_log") >= requests })
	w.ends(t)
	if n := w.times("access log lines are dropped"); n != 1 {
		t.Errorf("the log says so %d times:\n%s", n, w.sluice.Log)
	}
}

// TestNoReaderOfTheLog writes Sluice's own log, with a line for each of many refused objects, to a blocked reader.
func TestNoReaderOfTheLog(t *testing.T) {
	t.Parallel()
	silent := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(silent, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string]string{"a disk that is full": "/dev/full", "a pipe without a reader": silent} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			port := harness.FreeAddress(t)
			w := startWith(t, harness.Setup{
				Static: strings.Replace(staticFile, `traefik: {address: "127.0.0.1:0"}`, `traefik: {address: "${PORT}"}`, 1) +
					"metrics: {prometheus: {}}\nlog: {filePath: '${FILE}'}\n",
				Vars: map[string]string{"FILE": file, "PORT": port}, NotReady: true,
			})
			client := harness.NewClient(t, harness.H1, port, "localhost", nil)
			client.Transport.DisableKeepAlives = true
			harness.Until(t, "it is ready", func() bool {
				answer, err := client.Try(client.Request(http.MethodGet, "/ready", nil))
				return err == nil && answer.StatusCode == http.StatusOK
			})
			if file == "/dev/full" {
				harness.Until(t, "lines are counted as dropped", func() bool {
					text := client.Get("/metrics").Text
					return strings.Contains(text, `sluice_telemetry_dropped_total{signal="log"}`) &&
						!strings.Contains(text, `sluice_telemetry_dropped_total{signal="log"} 0`)
				})
			}
			w.ends(t)
		})
	}
}
