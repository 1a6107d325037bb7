package loadbalancer

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestChangesAreMeasured has a change wait for the rate limit, and another one be overtaken by a new specification.
func TestChangesAreMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var took []time.Duration
		registry := NewRegistry(Options{Took: func(d time.Duration) { took = append(took, d) }})
		spec := PoolSpec{Name: "shop", Dialer: newLine(), Servers: []ServerSpec{following(web, 1)}}
		registry.Pool(spec)
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
		registry.Pool(spec)
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
