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
		shut bool
	}{
		{"no pressure", 0, 95, 95, false},
		{"half of it", 0.5, 95, 45, false},
		{"near the threshold", 0.9, 95, 5, false},
		{"no room", 0.946, 95, 0, false},
		{"the threshold", 0.95, 95, 0, true},
		{"beyond the limit", 7, 95, 0, true},
		{"another threshold", 0.5, 70, 20, false},
		{"off", 1, 0, -1, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				config := defaults()
				config.Actions.StopAccepting = test.threshold
				m, monitor := gated(t, config)
				monitor.set(test.pressure)
				samples(2)
				if got := m.Shut(); got != test.shut {
					t.Errorf("shut is %v", got)
				}
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
		if waited := time.Since(began); waited > 0 || m.Shut() {
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
