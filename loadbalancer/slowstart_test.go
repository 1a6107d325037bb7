package loadbalancer

import (
	"testing"
	"time"
)

// share returns which part of n requests at that instant an endpoint gets.
func (b *rig) share(pool *Pool, address string, n int) float64 {
	b.t.Helper()
	got := 0
	request := &Request{}
	for range n {
		request.Now = b.instant()
		member, err := pool.Acquire(request)
		if err != nil {
			b.t.Fatal(err)
		}
		if member.Address() == address {
			got++
		}
		member.Done(Result{})
	}
	return float64(got) / float64(n)
}

func TestSlowStart(t *testing.T) {
	b := newRig(t, nil)
	b.Apply(endpointSet(1, "192.0.2.1:80", "192.0.2.2:80", "192.0.2.3:80"))
	pool := b.pool(PoolSpec{
		Name: "shop", Dialer: newLine(), Servers: []ServerSpec{following(web, 1)},
		Policies: Policies{SlowStart: 10 * time.Second, Outlier: detection(t)},
	})
	between := func(what, address string, low, high float64) {
		t.Helper()
		if got := b.share(pool, address, 4000); got < low || got > high {
			t.Errorf("%s: %s has %.3f of the requests, want %.2f to %.2f", what, address, got, low, high)
		}
	}
	between("at first", "192.0.2.3:80", .3, .36)
	b.Apply(endpointSet(2, "192.0.2.1:80", "192.0.2.2:80", "192.0.2.3:80", "192.0.2.4:80"))
	b.pass(FlushInterval)
	if next := b.Flush(b.now); !next.Equal(b.now.Add(10 * time.Second)) {
		t.Errorf("the next flush is in %v", next.Sub(b.now))
	}
	// A member that takes a tenth of what it is given has .025/.775 of all.
	between("when it joins", "192.0.2.4:80", .02, .05)
	b.pass(5 * time.Second)
	between("after half of the time", "192.0.2.4:80", .11, .18)
	b.pass(5 * time.Second)
	between("after all of it", "192.0.2.4:80", .23, .27)
	if !pool.Snapshot().simple {
		t.Error("a pool whose members are all warm goes the long way")
	}
	b.fails(pool, "192.0.2.1:80", 3)
	b.pass(2 * time.Second)
	between("when it comes back", "192.0.2.1:80", .02, .05)
}

// TestSlowStartOfAll has no warm endpoint that could carry the load meanwhile.
func TestSlowStartOfAll(t *testing.T) {
	b := newRig(t, nil)
	b.Apply(endpointSet(1, "192.0.2.1:80#old"))
	pool := b.pool(PoolSpec{
		Name: "shop", Dialer: newLine(), Servers: []ServerSpec{following(web, 1)},
		Policies: Policies{SlowStart: 10 * time.Second},
	})
	b.Apply(endpointSet(2, "192.0.2.2:80#new", "192.0.2.3:80#new"))
	b.pass(FlushInterval)
	if got := b.share(pool, "192.0.2.2:80", 1000); got < .45 || got > .55 {
		t.Errorf("one of two that joined together has %.2f", got)
	}
}

// TestSlowStartOfAZone has all endpoints of the zone be cold: the others take a part.
func TestSlowStartOfAZone(t *testing.T) {
	b := newRig(t, nil)
	b.SetZone("a")
	zone := map[string]string{"192.0.2.1:80": "a"}
	b.Apply(zoned(1, zone, nil))
	spec := PoolSpec{
		Name: "shop", Dialer: newLine(), Servers: []ServerSpec{following(web, 1)},
		Policies: Policies{SlowStart: 10 * time.Second, Zone: ZoneLocal, Outlier: detection(t)},
	}
	pool := b.pool(spec)
	b.pass(FlushInterval)
	if got := b.share(pool, "192.0.2.1:80", 1000); got < 1 {
		t.Errorf("the only one of the zone has %.2f", got)
	}
	b.fails(pool, "192.0.2.1:80", 3)
	b.pass(2 * time.Second)
	if got := b.share(pool, "192.0.2.1:80", 1000); got < .05 || got > .4 {
		t.Errorf("when it comes back it has %.2f", got)
	}
	b.pass(10 * time.Second)
	if got := b.share(pool, "192.0.2.1:80", 1000); got < 1 {
		t.Errorf("when it is warm it has %.2f", got)
	}
}
