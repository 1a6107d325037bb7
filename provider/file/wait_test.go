package file

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// scripted returns a watcher without a system behind it, and the provider that waits for it.
func scripted(t *testing.T) (*Provider, *watcher) {
	t.Helper()
	p, err := New(static.FileProvider{Directory: "/etc/conf", Watch: true}, telemetry.Discard{})
	must(t, err)
	w := &watcher{
		logger: telemetry.Discard{},
		notify: &fsnotify.Watcher{Events: make(chan fsnotify.Event), Errors: make(chan error)},
		targets: targets{
			trees: map[string]bool{"/etc/conf": true},
			names: map[string]bool{"/etc/..data": true},
		},
	}
	return p, w
}

// waited runs wait and returns how long it took.
func waited(t *testing.T, p *Provider, w *watcher, during func()) (took time.Duration, force bool) {
	t.Helper()
	begin := time.Now()
	if during != nil {
		go during()
	}
	force, running := p.wait(t.Context(), w)
	if !running {
		t.Error("wait says that the context has ended")
	}
	return time.Since(begin), force
}

func TestWaitSettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, w := scripted(t)
		took, _ := waited(t, p, w, func() {
			for range 3 {
				w.notify.Events <- fsnotify.Event{Name: "/etc/conf/a.yaml", Op: fsnotify.Write}
				<-time.NewTimer(DefaultSettle / 2).C
			}
		})
		if want := 2*DefaultSettle/2 + DefaultSettle; took != want {
			t.Errorf("waited %v, want %v", took, want)
		}
	})
}

func TestWaitIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, w := scripted(t)
		stop := make(chan struct{})
		took, _ := waited(t, p, w, func() {
			for {
				select {
				case w.notify.Events <- fsnotify.Event{Name: "/etc/..data", Op: fsnotify.Create}:
					<-time.NewTimer(DefaultSettle / 5).C
				case <-stop:
					return
				}
			}
		})
		close(stop)
		if want := settleRounds * DefaultSettle; took != want {
			t.Errorf("waited %v, want %v", took, want)
		}
	})
}

func TestWaitIgnoresOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, w := scripted(t)
		took, force := waited(t, p, w, func() {
			w.notify.Events <- fsnotify.Event{Name: "/etc/passwd", Op: fsnotify.Write}
			<-time.NewTimer(time.Minute).C
			p.Reload()
		})
		if took != time.Minute || !force {
			t.Errorf("waited %v, force %v; want the reload after a minute", took, force)
		}
	})
}

func TestWaitLooksAgain(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(*Provider, *watcher)
		want  time.Duration
	}{
		{"where it cannot watch", func(_ *Provider, w *watcher) { w.failed = true }, pollInterval},
		{"at a file that may be about to be written", func(p *Provider, _ *watcher) {
			p.doubtful = true
		}, emptyRounds * DefaultSettle},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, w := scripted(t)
				test.spoil(p, w)
				if took, force := waited(t, p, w, nil); took != test.want || force {
					t.Errorf("waited %v, force %v; want %v", took, force, test.want)
				}
			})
		})
	}
}

func TestLostEventsReadEverythingAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, w := scripted(t)
		took, force := waited(t, p, w, func() { w.notify.Errors <- errors.New("queue overflow") })
		if took != 0 || force {
			t.Errorf("waited %v, force %v", took, force)
		}
	})
}
