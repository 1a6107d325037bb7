package source_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/inject/source"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// counter counts reloads, and reports each.
type counter struct {
	reloads chan bool
}

func (c *counter) Reloaded(ok bool) { c.reloads <- ok }

var errMistake = errors.New("a mistake")

// read returns the text of the file config in a directory; the text "bad" is a mistake.
func read(path string) (string, error) {
	text, err := os.ReadFile(filepath.Join(path, "config"))
	if err == nil && string(text) == "bad" {
		err = errMistake
	}
	return string(text), err
}

// generation makes a mounted ConfigMap have a text, as the kubelet does: by a link to another directory.
func generation(t *testing.T, mount, name, text string) {
	t.Helper()
	if err := os.Mkdir(filepath.Join(mount, name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(mount, name, "config"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(name, filepath.Join(mount, "..new")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(mount, "..new"), filepath.Join(mount, "..data")); err != nil {
		t.Fatal(err)
	}
}

// TestMountedConfigMapIsFollowed swaps the directory behind a mounted ConfigMap, with a mistake in between.
func TestMountedConfigMapIsFollowed(t *testing.T) {
	mount := t.TempDir()
	generation(t, mount, "..1", "first")
	if err := os.Symlink("..data/config", filepath.Join(mount, "config")); err != nil {
		t.Fatal(err)
	}
	count := &counter{make(chan bool, 100)}
	s := source.New(source.NewFiles(mount, read, telemetry.Discard{}), count, telemetry.Discard{})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	for i, step := range []struct {
		text, want string
		ok         bool
	}{{"", "first", true}, {"second", "second", true}, {"bad", "second", false}, {"third", "third", true}} {
		if step.text != "" {
			generation(t, mount, "..g"+string(rune('a'+i)), step.text)
		}
		if ok := <-count.reloads; ok != step.ok {
			t.Errorf("%q: reloaded %v", step.text, ok)
		}
		if got, loaded := s.Current(); got != step.want || !loaded {
			t.Errorf("%q: %q is in use", step.text, got)
		}
		if last := s.Last(); last.At.IsZero() || (last.Err == nil) != step.ok {
			t.Errorf("%q: the last attempt is %+v", step.text, last)
		}
	}
}

// origin is a configuration that changes without a notice.
type origin struct {
	mu    sync.Mutex
	text  string
	err   error
	reads int
}

func (o *origin) Read() (string, bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reads++
	return o.text, true, o.err
}

func (o *origin) Run(ctx context.Context, notify func()) {
	for range 50 { // One edit, many notices.
		notify()
	}
	<-ctx.Done()
}

func (o *origin) set(text string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text, o.err = text, err
}

// TestChangesWithoutNoticeAreSeen compares every few seconds, and reports a mistake once.
func TestChangesWithoutNoticeAreSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, count := &origin{err: errMistake}, &counter{make(chan bool, 100)}
		s := source.New(from, count, telemetry.Discard{})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { s.Run(ctx) })
		wait := func(duration time.Duration) {
			timer := time.NewTimer(duration)
			<-timer.C
			synctest.Wait()
		}
		wait(time.Second)
		if _, loaded := s.Current(); loaded || from.count() > 2 {
			t.Errorf("loaded %v after %d reads", loaded, from.count())
		}
		wait(time.Minute)
		if len(count.reloads) != 1 {
			t.Errorf("a mistake was counted %d times", len(count.reloads))
		}
		from.set("good", nil)
		wait(11 * time.Second)
		if text, _ := s.Current(); text != "good" {
			t.Errorf("%q is in use", text)
		}
		cancel()
		running.Wait()
	})
}

func (o *origin) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.reads
}

// busy is a configuration in a directory in which something changes all the time.
type busy struct{ origin }

func (b *busy) Run(ctx context.Context, notify func()) {
	every := time.NewTicker(20 * time.Millisecond)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
			notify()
		}
	}
}

// TestBusyDirectoryDoesNotPostpone wants a change to be in use in time, however many notices there are.
func TestBusyDirectoryDoesNotPostpone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := &busy{origin{text: "first"}}
		s := source.New(from, &counter{make(chan bool, 1000)}, telemetry.Discard{})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { s.Run(ctx) })
		for _, text := range []string{"second", "third"} {
			from.set(text, nil)
			timer := time.NewTimer(1500 * time.Millisecond)
			<-timer.C
			synctest.Wait()
			if got, _ := s.Current(); got != text {
				t.Errorf("%q is in use, want %q", got, text)
			}
		}
		if reads := from.count(); reads > 5 {
			t.Errorf("%d reads in 3 s", reads)
		}
		cancel()
		running.Wait()
	})
}

// TestFilesThatChangeWhileTheyAreRead wants no mixture of two generations, and no mistake of one either.
func TestFilesThatChangeWhileTheyAreRead(t *testing.T) {
	for name, test := range map[string]struct {
		changes int
		want    string
		changed bool
	}{"once": {1, "b1", true}, "always": {100, "", false}} {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			put := func(text string) {
				if err := os.WriteFile(filepath.Join(directory, "config"), []byte(text), 0o600); err != nil {
					t.Error(err)
				}
			}
			put("b0")
			loads := 0
			files := source.NewFiles(directory, func(path string) (string, error) {
				text, err := read(path)
				if loads++; loads <= test.changes {
					put("b" + strconv.Itoa(loads))
					err = errMistake // As of a template that lacks its values.
				}
				return text, err
			}, telemetry.Discard{})
			if text, changed, err := files.Read(); text != test.want || changed != test.changed || err != nil {
				t.Errorf("%q %v %v", text, changed, err)
			}
			test.changes = 0
			if text, changed, err := files.Read(); changed == test.changed || err != nil {
				t.Errorf("afterwards: %q %v %v", text, changed, err)
			}
		})
	}
}
