package loadbalancer

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer/picker"
)

// TestChangesAreMeasured has a change wait for the rate limit, and another one be overtaken by a new specification.
func TestChangesAreMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var took []time.Duration
		registry := NewRegistry(Options{Took: func(d time.Duration) { took = append(took, d) }})
		spec := PoolSpec{Name: "shop", Dialer: newLine(), Servers: []ServerSpec{following(web, 1)}}
		registry.pool(spec)
		change := func(version uint64, address string) {
			set := endpointSet(version, address)
			set.Noticed = time.Now()
			registry.Apply(set)
		}
		change(1, "192.0.2.1:80")
		registry.Flush(time.Now())
		pass(time.Millisecond)
		change(2, "192.0.2.2:80")
		pass(time.Millisecond)
		change(3, "192.0.2.3:80")
		next := registry.Flush(time.Now())
		pass(time.Until(next))
		registry.Flush(time.Now())
		change(4, "192.0.2.4:80")
		spec.Servers = []ServerSpec{following(web, 2)}
		registry.pool(spec)
		pass(time.Second)
		change(5, "192.0.2.5:80")
		registry.Flush(time.Now())
		registry.Apply(endpointSet(6, "192.0.2.6:80"))
		pass(time.Second)
		registry.Flush(time.Now())
		if want := []time.Duration{0, 9 * time.Millisecond, 0}; !slices.Equal(took, want) {
			t.Errorf("measured %v, want %v", took, want)
		}
	})
}

// pass lets time pass on the clock of the test.
func pass(d time.Duration) { <-time.NewTimer(d).C }

// TestFailuresAreSlow has an endpoint fail at once: the strategies that go by latency take it for slow all the same.
func TestFailuresAreSlow(t *testing.T) {
	for _, failure := range []Result{{Outcome: Broken}, {Outcome: Answered, Status: 503}} {
		b := newRig(t, nil)
		pool := b.shop(2, Policies{Strategy: picker.Strategy{Name: dynamic.StrategyPeakEWMA}})
		got := map[string]int{}
		for range 400 {
			request := &Request{}
			request.Now = b.instant()
			member, err := pool.Acquire(request)
			if err != nil {
				t.Fatal(err)
			}
			got[member.Address()]++
			result := Result{Outcome: Answered, Status: 200}
			if member.Address() == "192.0.2.1:80" {
				result = failure
			}
			result.Latency, result.Now = time.Millisecond, b.instant()
			member.Done(result)
			b.now = b.now.Add(time.Millisecond)
		}
		if got["192.0.2.1:80"] > 80 {
			t.Errorf("%v: requests %v", failure, got)
		}
	}
}
