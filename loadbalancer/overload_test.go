package loadbalancer

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestOverload has three times as many requests as an endpoint can serve: 100 in flight of 200 ms each, so 500 a
// second. What is served is served fast, and the endpoint is kept busy.
func TestOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const places, work, duration = 100, 200 * time.Millisecond, 10 * time.Second
		b := newRig(t, nil)
		pool := b.shop(1, Policies{Limits: Limits{PerEndpoint: places, Pending: 1000, PendingTime: time.Second}})
		var group sync.WaitGroup
		var mutex sync.Mutex
		var waits []time.Duration
		began := time.Now()
		for time.Since(began) < duration {
			group.Go(func() {
				request, since := plain(t.Context()), time.Now()
				member, err := pool.Acquire(request)
				if err != nil {
					if _, refused := errors.AsType[*Refusal](err); !refused {
						t.Error(err)
					}
					return
				}
				// The queue is overloaded after the interval, and old requests have left after another.
				if since.Sub(began) > 2*time.Second {
					mutex.Lock()
					waits = append(waits, time.Since(since))
					mutex.Unlock()
				}
				pass(work)
				held{member, request}.done()
			})
			pass(time.Second / 1500)
		}
		group.Wait()
		slices.Sort(waits)
		served, p99 := float64(len(waits))/8, waits[len(waits)*99/100]
		t.Logf("%.0f requests a second, p99 of the wait %v, the longest %v, dropped %d", served, p99, waits[len(waits)-1],
			pool.counters.Dropped.Load())
		if served < 490 || p99 > 50*time.Millisecond || pool.counters.Dropped.Load() == 0 {
			t.Errorf("%.0f requests a second with p99 %v", served, p99)
		}
		equal(t, "in flight", pool.state.InFlight.Load(), int64(0))
	})
}

// TestBurst has as many requests at once as are served within the time that one may wait: none is lost.
func TestBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newRig(t, nil)
		pool := b.shop(1, Policies{Limits: Limits{PerEndpoint: 10, Pending: 1000, PendingTime: time.Second}})
		var group sync.WaitGroup
		for range 200 {
			group.Go(func() {
				request := plain(t.Context())
				member, err := pool.Acquire(request)
				if err != nil {
					t.Error(err)
					return
				}
				pass(50 * time.Millisecond)
				held{member, request}.done()
			})
		}
		group.Wait()
		equal(t, "dropped", pool.counters.Dropped.Load(), uint64(0))
	})
}
