package overload_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/overload"
	"github.com/sluiceproxy/sluice/static"
)

// TestGate has a resource that a hundred connections use up, and counts how many may be accepted until the next
// sample.
func TestGate(t *testing.T) {
	for _, test := range []struct {
		name      string
		pressure  float64
		threshold int
		// room is how many enter at once; -1 is any number.
		room int
	}{
		{"no pressure", 0, 95, 95},
		{"half of it", 0.5, 95, 45},
		{"near the threshold", 0.9, 95, 5},
		{"no room", 0.946, 95, 0},
		{"the threshold", 0.95, 95, 0},
		{"beyond the limit", 7, 95, 0},
		{"another threshold", 0.5, 70, 20},
		{"off", 1, 0, -1},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				config := defaults()
				config.Actions.StopAccepting = test.threshold
				m, monitor := gated(t, config)
				monitor.set(test.pressure)
				samples(2)
				began, entered := time.Now(), 0
				for time.Since(began) == 0 && entered < 1000 {
					m.Enter(t.Context())
					entered++
				}
				if test.room < 0 {
					if entered < 1000 {
						t.Errorf("one has waited after %d", entered)
					}
					return
				}
				if entered-1 != test.room || time.Since(began) != 100*time.Millisecond {
					t.Errorf("%d entered, and one more after %v; want %d", entered-1, time.Since(began), test.room)
				}
			})
		})
	}
}

// TestGateCountsBothKinds has connections that wait and others that cannot, which share what there is room for until
// the next sample. Addresses are to be proven from the half of it on.
func TestGateCountsBothKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, monitor := gated(t, defaults())
		if !m.TryEnter() || m.Crowded() {
			t.Error("there is no room before the first sample")
		}
		monitor.set(0.85)
		samples(2)
		for n := range 10 {
			if crowded := m.Crowded(); crowded != (n >= 5) {
				t.Errorf("after %d it is crowded: %v", n, crowded)
			}
			if n%2 == 0 {
				m.Enter(t.Context())
			} else if !m.TryEnter() {
				t.Errorf("after %d there is no room", n)
			}
		}
		if m.TryEnter() {
			t.Error("more have entered than there is room for")
		}
		samples(1)
		if !m.TryEnter() || m.Crowded() {
			t.Error("there is no room after the next sample")
		}
		monitor.set(1)
		samples(2)
		if m.TryEnter() || !m.Crowded() {
			t.Error("there is room without any left")
		}
	})
}

// gated runs a manager whose resource a hundred connections use up.
func gated(t *testing.T, config static.Overload) (*overload.Ladder, *gauge) {
	t.Helper()
	monitor := &gauge{}
	m := overload.New(config, overload.Options{Monitors: []overload.Monitored{{
		Name: "memory", Monitor: monitor, Actions: []overload.Action{overload.StopAccepting}, Connections: 100,
	}}, Logger: &lines{}})
	run(t, m)
	return m, monitor
}

// TestGateOpens has room again as soon as the pressure falls, and lets all in before the first sample.
func TestGateOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, monitor := gated(t, defaults())
		m.Enter(t.Context())
		monitor.set(1)
		samples(2)
		monitor.set(0.2)
		samples(200)
		began := time.Now()
		for range 75 { // As many as have room.
			m.Enter(t.Context())
		}
		if waited := time.Since(began); waited > 0 {
			t.Errorf("without pressure connections waited for %v", waited)
		}
	})
}

// TestGateWaitsForNoEndedContext has the accept loop end.
func TestGateWaitsForNoEndedContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, monitor := gated(t, defaults())
		monitor.set(1)
		samples(2)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		m.Enter(ctx)
		if waited := time.Since(began); waited > 0 {
			t.Errorf("it took %v", waited)
		}
	})
}

func BenchmarkEnter(b *testing.B) {
	m := overload.New(defaults(), overload.Options{Logger: &lines{}})
	b.ReportAllocs()
	for b.Loop() {
		m.Enter(b.Context())
	}
}
