package health

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestStopIsTheEnd(t *testing.T) {
	tests := []struct {
		name   string
		answer func(context.Context, int) (int, error)
		after  time.Duration
		calls  int
	}{
		{"under way", never, time.Second, 0},
		{"at rest", always(200), time.Second, 1},
		{"when its time comes", always(200), 10 * time.Second, 1},
		{"an answer that ignores the end", func(context.Context, int) (int, error) {
			<-time.After(4 * time.Second) //nolint:forbidigo // a clock that costs no time
			return 200, nil
		}, time.Second, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, notes := &endpoint{answer: test.answer}, &journal{}
				prober := NewProber(1)
				defer prober.Close()
				probe := prober.Start(server.target(), every(t, 10*time.Second, nil), notes.note)
				pass(test.after)
				begin := time.Now()
				if probe.Stop(); time.Since(begin) != 0 || !probe.Stopped() {
					t.Errorf("stopped after %v: %v", time.Since(begin), probe.Stopped())
				}
				probe.Stop() // Once more makes no difference.
				if synctest.Wait(); server.open != 0 && test.name == "under way" {
					t.Error("the check goes on")
				}
				if probe.timer != nil && probe.timer.Stop() {
					t.Error("the timer runs on")
				}
				probe.due() // A timer that has fired already may be late.
				asked := len(server.times())
				pass(time.Hour)
				if got := len(notes.all()); got != test.calls {
					t.Errorf("%d results, want %d", got, test.calls)
				}
				if again := len(server.times()) - asked; again > 1 || again == 1 && test.after%(10*time.Second) != 0 {
					t.Errorf("%d further checks", again)
				}
				if len(prober.probes) != 0 || server.open != 0 {
					t.Errorf("%d probes are kept, %d checks are under way", len(prober.probes), server.open)
				}
			})
		})
	}
}

func TestStopInTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hung, server := &endpoint{answer: takes(time.Second)}, &endpoint{answer: always(200)}
		prober := NewProber(1)
		defer prober.Close()
		prober.Start(hung.target(), every(t, time.Hour, nil), func(Result) {})
		var probes []*Probe
		for range 3 {
			probes = append(probes, prober.Start(server.target(), every(t, time.Hour, nil), func(Result) {}))
		}
		probes[0].Stop()
		probes[2].Stop()
		pass(time.Minute)
		if n := len(server.times()); n != 1 {
			t.Errorf("%d of three probes were checked, two of which were stopped", n)
		}
	})
}

// TestStopUnderTheLockOfResults has every probe change its result with each check, which is reported under a
// lock, and stops probes under that lock. A caller that checks Stopped under the lock gets no result of a probe that is
// stopped.
func TestStopUnderTheLockOfResults(t *testing.T) {
	flip := func(_ context.Context, n int) (int, error) {
		runtime.Gosched()
		return 200 + n%2*300, nil
	}
	prober := NewProber(4)
	var lock sync.Mutex
	var heard, late atomic.Int64
	for range 200 {
		server := &endpoint{answer: flip}
		var probe *Probe
		gone, known := false, make(chan struct{})
		lock.Lock()
		probe = prober.Start(server.target(), every(t, time.Millisecond, nil), func(Result) {
			lock.Lock()
			defer lock.Unlock()
			if probe.Stopped() {
				return
			}
			if heard.Add(1); gone {
				late.Add(1)
			}
			select {
			case <-known:
			default:
				close(known)
			}
		})
		lock.Unlock()
		<-known
		lock.Lock()
		probe.Stop()
		gone = true
		lock.Unlock()
	}
	prober.Close()
	if heard.Load() == 0 || late.Load() != 0 {
		t.Errorf("%d calls, %d of them for probes that were stopped", heard.Load(), late.Load())
	}
}

// TestStopWhileChangedIsCalled stops a probe whose call waits for the lock that the caller of Stop holds.
func TestStopWhileChangedIsCalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &endpoint{answer: always(200)}
		prober := NewProber(1)
		defer prober.Close()
		var lock sync.Mutex
		var probe *Probe
		var calls, dropped atomic.Int64
		lock.Lock()
		probe = prober.Start(server.target(), every(t, time.Second, nil), func(Result) {
			calls.Add(1)
			<-time.After(time.Second) //nolint:forbidigo // a clock that costs no time
			lock.Lock()
			defer lock.Unlock()
			if probe.Stopped() {
				dropped.Add(1)
			}
		})
		synctest.Wait() // The call is being made.
		probe.Stop()
		lock.Unlock()
		pass(time.Hour)
		if calls.Load() != 1 || dropped.Load() != 1 || len(server.times()) != 1 {
			t.Errorf("%d calls, %d of them dropped, after %d checks; want one of each", calls.Load(), dropped.Load(),
				len(server.times()))
		}
	})
}

func TestStopWithinChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &endpoint{answer: always(200)}
		prober := NewProber(1)
		defer prober.Close()
		probes := make(chan *Probe, 1)
		probes <- prober.Start(server.target(), every(t, time.Second, nil), func(Result) { (<-probes).Stop() })
		pass(time.Minute)
		if n := len(server.times()); n != 1 {
			t.Errorf("%d checks", n)
		}
	})
}

func TestCloseEndsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hung, server := &endpoint{answer: never}, &endpoint{answer: always(200)}
		prober, notes := NewProber(3), &journal{}
		for range 10 {
			prober.Start(server.target(), every(t, time.Second, nil), func(Result) {})
		}
		for range 10 {
			prober.Start(hung.target(), every(t, time.Minute, nil), notes.note)
		}
		synctest.Wait()
		begin := time.Now()
		prober.Close()
		if took := time.Since(begin); took != 0 {
			t.Errorf("closed after %v", took)
		}
		prober.Close()
		probe := prober.Start(server.target(), every(t, time.Second, nil), notes.note)
		if !probe.Stopped() {
			t.Error("a closed prober starts probes")
		}
		probe.Stop()
		asked := len(server.times()) + len(hung.times())
		pass(time.Hour)
		if len(notes.all()) != 0 || len(server.times())+len(hung.times()) != asked || hung.open != 0 {
			t.Errorf("after the end: %d calls, %d checks, %d under way", len(notes.all()), len(server.times())+
				len(hung.times())-asked, hung.open)
		}
	})
}

func TestCloseWaitsForCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, prober := &endpoint{answer: always(200)}, NewProber(1)
		var ended atomic.Bool
		prober.Start(server.target(), every(t, time.Second, nil), func(Result) {
			<-time.After(time.Minute) //nolint:forbidigo // a clock that costs no time
			ended.Store(true)
		})
		synctest.Wait()
		if prober.Close(); !ended.Load() {
			t.Error("closed while a call was under way")
		}
	})
}
