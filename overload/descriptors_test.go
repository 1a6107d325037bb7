package overload_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/overload"
)

// TestDescriptors counts at once while that is fast, and for a fiftieth of the time while it is slow. What cannot be
// counted is all in use.
func TestDescriptors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open, counted, takes := 50, 0, time.Duration(0)
		var failure error
		monitor := overload.Descriptors(func() (int, error) {
			counted++
			pass(takes)
			return open, failure
		}, func() int64 { return 0 }, 200)
		for _, test := range []struct {
			name    string
			wait    time.Duration
			open    int
			takes   time.Duration
			failure error
			want    float64
			counted int
		}{
			{"fast", 0, 50, 0, nil, 0.25, 1},
			{"at once again", 0, 100, 0, nil, 0.5, 2},
			{"beyond the limit", 0, 300, 0, nil, 1.5, 3},
			{"slow", 0, 20, 10 * time.Millisecond, nil, 0.1, 4},
			{"too early", 400 * time.Millisecond, 40, 0, nil, 0.1, 4},
			{"later", 100 * time.Millisecond, 40, 0, nil, 0.2, 5},
			{"none left to count", 0, 40, 0, errors.New("too many open files"), 1, 6},
		} {
			pass(test.wait)
			open, takes, failure = test.open, test.takes, test.failure
			if got := monitor.Pressure(time.Now()); got != test.want || counted != test.counted {
				t.Errorf("%s: the pressure is %v after %d counts, want %v and %d", test.name, got, counted, test.want, test.counted)
			}
		}
	})
}

// TestSlowDescriptors counts for a second, which no sample waits for. Connections that open and close meanwhile, and
// until the next count, correct the last one.
func TestSlowDescriptors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var open, connections, counting, counted atomic.Int64
		takes := 100 * time.Millisecond
		monitor := overload.Descriptors(func() (int, error) {
			if counting.Add(1) > 1 {
				t.Error("two counts are under way")
			}
			defer counting.Add(-1)
			n := open.Load()
			pass(takes)
			counted.Add(1)
			return int(n), nil
		}, connections.Load, 1000)
		pressure := func(want float64) {
			t.Helper()
			began := time.Now()
			if got := monitor.Pressure(began); got != want || time.Since(began) > 0 {
				t.Errorf("the pressure is %v after %v, want %v at once", got, time.Since(began), want)
			}
		}
		open.Store(100)
		connections.Store(20)
		monitor.Pressure(time.Now()) // How long it takes is not known yet.
		takes = time.Second
		pass(5 * time.Second)
		pressure(0.1) // The count begins.
		connections.Store(70)
		pressure(0.2)
		pass(1100 * time.Millisecond)
		pressure(0.2) // It has ended, and has not seen the new ones.
		connections.Store(10)
		pressure(0.09)
		open.Store(130)
		pass(51 * time.Second)
		pressure(0.09) // The next count begins.
		pass(1100 * time.Millisecond)
		pressure(0.13)
		if counted.Load() != 3 {
			t.Errorf("%d counts", counted.Load())
		}
	})
}

// TestGateFollowsConnections lets as many connections in as there is room for while descriptors are counted seldom.
func TestGateFollowsConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 1000
		var connections atomic.Int64
		m := overload.New(defaults(), overload.Options{Logger: &lines{}, Monitors: []overload.Monitored{{
			Name: "descriptors", Option: "overload.descriptors.limit", Connections: limit / overload.ConnectionDescriptors,
			Monitor: overload.Descriptors(func() (int, error) {
				pass(time.Second)
				return 900, nil
			}, connections.Load, limit),
			Actions: []overload.Action{overload.StopAccepting},
		}}})
		run(t, m)
		pass(1550 * time.Millisecond) // No sample is taken while connections enter.
		for range 100 {
			for m.TryEnter() {
				connections.Add(1)
			}
			pass(interval)
		}
		if entered := connections.Load(); entered != 25 {
			t.Errorf("%d connections have entered, and there was room for 25", entered)
		}
	})
}
