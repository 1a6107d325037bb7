package loadbalancer

import (
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// TestDrainTime ends what is left of the requests to an endpoint that is gone when their time is over, and
// nothing before.
func TestDrainTime(t *testing.T) {
	for _, test := range []struct {
		name  string
		limit time.Duration
		ends  bool // before the time is over
		cut   int
	}{
		{"a limit", 10 * time.Second, false, 1},
		{"a request that ends in time", 10 * time.Second, true, 0},
		{"no limit", 0, false, 0},
		{"a limit that no clock can hold", math.MaxInt64, false, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			b, dialer := newRig(t, nil), newLine()
			b.now = time.Now()
			b.Apply(endpointSet(1, "192.0.2.1:80#a", "192.0.2.2:80#b"))
			pool := b.pool(PoolSpec{
				Name: "shop", Dialer: dialer, Servers: []ServerSpec{following(web, 1)}, Policies: Policies{DrainTime: test.limit},
			})
			leaving := members(pool)["192.0.2.1:80"]
			leaving.upstream.begin()
			b.Apply(endpointSet(2, "192.0.2.2:80#b"))
			b.pass(FlushInterval)
			if next := b.Flush(b.now); test.limit > 0 && (next.IsZero() || next.After(b.now.Add(test.limit))) {
				t.Errorf("%s: the next flush is at %v", test.name, next.Sub(b.now))
			}
			b.pass(min(test.limit, time.Hour) - time.Second)
			equal(t, test.name+": cut before the time", len(dialer.cut), 0)
			if test.ends {
				leaving.Done(Result{})
			}
			b.pass(2 * time.Second)
			equal(t, test.name+": cut", len(dialer.cut), test.cut)
			if test.ends {
				b.pass(leavingInterval)
				b.Flush(b.now)
				equal(t, test.name+": upstreams that leave", len(b.leaving), 0)
			}
			equal(t, test.name+": counted", int(pool.Counters().Cut.Load()), test.cut)
		})
	}
}

// TestDrainingKeepsNoConnection closes the connections to an endpoint that drains as soon as no request uses them,
// and keeps them again when it is back.
func TestDrainingKeepsNoConnection(t *testing.T) {
	b, dialer := newRig(t, nil), newLine()
	b.Apply(endpointSet(1, "192.0.2.1:80", "192.0.2.2:80"))
	shop := PoolSpec{Name: "shop", Dialer: dialer, Servers: []ServerSpec{following(web, 1)}}
	pool := b.pool(shop)
	other := b.pool(PoolSpec{Name: "other", Dialer: dialer, Servers: []ServerSpec{inline("192.0.2.9:80", 1)}})
	member := members(pool)["192.0.2.1:80"]
	member.upstream.begin()
	b.Apply(endpointSet(2, "192.0.2.1:80!", "192.0.2.2:80"))
	b.pass(FlushInterval)
	equal(t, "closed when it begins to drain", dialer.calls, 1)
	member.Done(Result{})
	equal(t, "closed after its last request", dialer.calls, 2)
	b.Apply(endpointSet(3, "192.0.2.1:80", "192.0.2.2:80"))
	b.pass(FlushInterval)
	member.upstream.begin()
	member.Done(Result{})
	equal(t, "closed when it is back", dialer.calls, 2)

	// A server without weight drains, unless another pool has use for it.
	weightless := PoolSpec{Name: "other", Dialer: dialer, Servers: []ServerSpec{inline("192.0.2.9:80", 0)}}
	third := b.pool(PoolSpec{Name: "third", Dialer: dialer, Servers: []ServerSpec{inline("192.0.2.9:80", 1)}})
	b.pool(weightless)
	equal(t, "closed while another pool keeps it", dialer.calls, 2)
	b.Release(third.Name())
	equal(t, "closed when nobody does", dialer.calls, 3)
	equal(t, "who answers", picks(other, 2), map[string]int{"nobody": 2})
}

// TestTriedEndpoints tries every endpoint once.
func TestTriedEndpoints(t *testing.T) {
	b := newRig(t, nil)
	pool := b.shop(5, Policies{})
	request := &Request{}
	seen := map[string]bool{}
	for range 5 {
		member, err := pool.Acquire(request)
		if err != nil {
			t.Fatal(err)
		}
		member.Done(Result{})
		seen[member.Address()] = true
		request.Tried = append(request.Tried, member)
	}
	equal(t, "different endpoints", len(seen), 5)
	_, err := pool.Acquire(request)
	if refused := refusal(t, err); !refused.Exhausted {
		t.Errorf("when all were tried: %+v", refused)
	}
	request.Again = true
	member, err := pool.Acquire(request)
	if err != nil {
		t.Fatalf("when an endpoint may be tried again: %v", err)
	}
	member.Done(Result{})
	equal(t, "what was tried", len(request.Tried), 5)
}

// TestDrainingForOnePool has an endpoint drain for one pool when another begins to use it: its connections are
// kept for that.
func TestDrainingForOnePool(t *testing.T) {
	b, dialer := newRig(t, nil), newLine()
	b.pool(PoolSpec{Name: "old", Dialer: dialer, Servers: []ServerSpec{inline("192.0.2.1:80", 0)}})
	pool := b.pool(PoolSpec{Name: "new", Dialer: dialer, Servers: []ServerSpec{inline("192.0.2.1:80", 1)}})
	closed := dialer.calls
	b.hold(pool).done()
	equal(t, "closed after a request", dialer.calls, closed)
	b.Release("new")
	equal(t, "closed when the last is gone that wants them", dialer.calls, closed+1)
}

func TestLater(t *testing.T) {
	equal(t, "beyond the end of time", later(time.Hour, math.MaxInt64), time.Duration(math.MaxInt64))
	equal(t, "before it", later(time.Hour, time.Minute), time.Hour+time.Minute)
}
