package loadbalancer

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestAConnectionCountsWhenItIsMade has connects fail and succeed in turn, while the connections stay.
func TestAConnectionCountsWhenItIsMade(t *testing.T) {
	b := newRig(t, nil)
	pool := b.shop(2, Policies{Outlier: detection(t)})
	const address = "192.0.2.1:80"
	member := members(pool)[address]
	for range 4 {
		for range 2 {
			b.ends(pool, address, Result{Outcome: Unreachable})
		}
		equal(t, "failed connects", member.Endpoint().ConnectFailures(), 2)
		member.upstream.begin()
		member.Connected(b.instant(), b.instant())
		equal(t, "failed connects after one that is made", member.Endpoint().ConnectFailures(), 0)
	}
	b.pass(FlushInterval)
	equal(t, "connections", member.Endpoint().InFlight(), 4)
	equal(t, "who serves", b.who(pool, 10), []string{address, "192.0.2.2:80"})
	b.lost(pool, address)
	for range 4 {
		member.Done(Result{Outcome: Abandoned})
	}
	b.pass(FlushInterval)
	equal(t, "connections at last", member.Endpoint().InFlight(), 0)
	equal(t, "who serves after three failures in a row", b.who(pool, 10), []string{"192.0.2.2:80"})
}

// TestAWaitEndsWithItsContext has a connection wait for a limit, where there is no request of HTTP.
func TestAWaitEndsWithItsContext(t *testing.T) {
	b := newRig(t, nil)
	pool := b.shop(1, Policies{Limits: Limits{PerEndpoint: 1, Pending: 1, PendingTime: time.Hour}})
	defer b.hold(pool).done()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := pool.Acquire(&Request{Context: ctx}); !errors.Is(err, context.Canceled) {
		t.Errorf("the wait ends with %v", err)
	}
}
