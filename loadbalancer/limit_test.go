package loadbalancer

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func plain(ctx context.Context) *Request {
	request := &Request{}
	request.HTTP = httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
	return request
}

func TestLimitsOfEndpointAndPool(t *testing.T) {
	for _, test := range []struct {
		name   string
		limits Limits
		most   int
	}{
		{"of the endpoints", Limits{PerEndpoint: 2}, 4},
		{"of the pool", Limits{PerPool: 3}, 3},
		{"of both", Limits{PerEndpoint: 1, PerPool: 3}, 2},
	} {
		b := newRig(t, nil)
		pool := b.shop(2, Policies{Limits: test.limits})
		var under []held
		for range test.most {
			under = append(under, b.hold(pool))
		}
		_, err := pool.Acquire(plain(t.Context()))
		if refused := refusal(t, err); !refused.Saturated || !strings.Contains(refused.Reason, "limits") {
			t.Errorf("limits %s: refused because %s", test.name, refused.Reason)
		}
		for _, one := range under {
			one.done()
		}
		b.hold(pool).done()
		equal(t, "in flight", pool.state.InFlight.Load(), int64(0))
	}
}

// TestLimitsOfAReload begins requests under no limit, under one, and under none again: what is counted must
// come out even.
func TestLimitsOfAReload(t *testing.T) {
	b := newRig(t, nil)
	spec := PoolSpec{Name: "shop", Dialer: newLine(), Servers: servers(1)}
	pool := b.pool(spec)
	var under []held
	for step := range 6 {
		spec.Limits = Limits{PerEndpoint: 12 * (step % 2)}
		b.pool(spec)
		for range 4 {
			under = append(under, b.hold(pool))
		}
	}
	// Those that began under no limit end first, and make no room under it.
	spec.Limits = Limits{PerEndpoint: 12}
	b.pool(spec)
	for _, one := range under {
		if !one.request.Counted {
			one.done()
		}
	}
	if _, err := pool.Acquire(plain(t.Context())); err == nil {
		t.Error("the end of requests that no limit counted makes room for others")
	}
	for _, one := range under {
		if one.request.Counted {
			one.done()
		}
	}
	equal(t, "in flight", []int64{pool.state.InFlight.Load(), members(pool)["192.0.2.1:80"].active.Load()}, []int64{0, 0})
}

func TestPendingRequestsWaitInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newRig(t, nil)
		pool := b.shop(1, Policies{Limits: Limits{PerEndpoint: 1, Pending: 3, PendingTime: 5 * time.Second}})
		running := b.hold(pool)
		type got struct {
			number int
			held
			err error
		}
		served := make(chan got, 3)
		begin := func(ctx context.Context, number int) {
			go func() {
				request := plain(ctx)
				member, err := pool.Acquire(request)
				served <- got{number, held{member, request}, err}
			}()
			synctest.Wait()
		}
		leaving, leave := context.WithCancel(t.Context())
		begin(t.Context(), 1)
		begin(leaving, 2)
		begin(t.Context(), 3)
		_, err := pool.Acquire(plain(t.Context()))
		equal(t, "one too many", refusal(t, err).Reason, "3 requests wait for an endpoint already")
		leave()
		if second := <-served; second.number != 2 || !errors.Is(second.err, context.Canceled) {
			t.Fatalf("the client that left: %+v", second)
		}
		running.done()
		first := <-served
		if first.number != 1 || first.err != nil {
			t.Fatalf("first served: %+v", first)
		}
		pass(5 * time.Second)
		if third := <-served; third.number != 3 || refusal(t, third.err).Reason != "no endpoint became free within 5s" {
			t.Fatalf("the one that waited too long: %+v", third)
		}
		first.done()
		b.hold(pool).done()
	})
}

// TestPendingRequestsTakeNewEndpoints has an endpoint join while requests wait.
func TestPendingRequestsTakeNewEndpoints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newRig(t, nil)
		b.Apply(endpointSet(1, "192.0.2.1:80"))
		pool := b.pool(PoolSpec{
			Name: "shop", Dialer: newLine(), Servers: []ServerSpec{following(web, 1)},
			Policies: Policies{Limits: Limits{PerEndpoint: 1, Pending: 3, PendingTime: 5 * time.Second}},
		})
		if _, err := pool.Acquire(plain(t.Context())); err != nil {
			t.Fatal(err)
		}
		served := make(chan string)
		go func() {
			member, err := pool.Acquire(plain(t.Context()))
			if err != nil {
				served <- err.Error()
				return
			}
			served <- member.Address()
		}()
		synctest.Wait()
		b.Apply(endpointSet(2, "192.0.2.1:80", "192.0.2.2:80"))
		b.pass(FlushInterval)
		equal(t, "who takes it", <-served, "192.0.2.2:80")
	})
}

// TestAFurtherTryDoesNotWait has one request wait for the place of another that is tried again before it gives
// its place up.
func TestAFurtherTryDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newRig(t, nil)
		pool := b.shop(2, Policies{Limits: Limits{PerPool: 1, Pending: 3, PendingTime: 5 * time.Second}})
		running := b.hold(pool)
		waiting := make(chan error, 1)
		go func() {
			request := plain(t.Context())
			member, err := pool.Acquire(request)
			if err == nil {
				held{member, request}.done()
			}
			waiting <- err
		}()
		synctest.Wait()
		again, began := plain(t.Context()), time.Now()
		again.Tried = []*Member{running.member}
		_, err := pool.Acquire(again)
		if refused := refusal(t, err); !refused.Exhausted || time.Since(began) > 0 {
			t.Errorf("the further try waits for %v, refused because %s", time.Since(began), refused.Reason)
		}
		running.done()
		if err := <-waiting; err != nil {
			t.Errorf("the one that waits: %v", err)
		}
	})
}

// TestAFullPoolPicksNoEndpoint refuses without a look at the members, of which there may be many.
func TestAFullPoolPicksNoEndpoint(t *testing.T) {
	b := newRig(t, nil)
	pool := b.shop(3, Policies{Limits: Limits{PerPool: 1}})
	running, cursor := b.hold(pool), pool.state.Cursor.Load()
	if _, err := pool.Acquire(plain(t.Context())); !refusal(t, err).Saturated {
		t.Error("a full pool is not saturated")
	}
	equal(t, "picks", pool.state.Cursor.Load(), cursor)
	running.done()
}

// TestLimitsUnderLoad has more requests than places, of which each is given back: no request is left waiting,
// and no limit is passed.
func TestLimitsUnderLoad(t *testing.T) {
	b := newRig(t, nil)
	limits := Limits{PerEndpoint: 2, PerPool: 3, Pending: 64, PendingTime: time.Minute}
	pool := b.shop(2, Policies{Limits: limits})
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for range 200 {
				request := plain(t.Context())
				member, err := pool.Acquire(request)
				if err != nil {
					t.Error(err)
					return
				}
				if own, all := member.active.Load(), pool.state.InFlight.Load(); own > 2 || all > 3 {
					t.Errorf("%d requests to an endpoint, %d in all", own, all)
				}
				held{member, request}.done()
			}
		})
	}
	group.Wait()
	equal(t, "in flight", pool.state.InFlight.Load(), int64(0))
}

// TestTwoPlacesAtOnce gives two places back before a waiting request has noticed the first.
func TestTwoPlacesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newRig(t, nil)
		pool := b.shop(2, Policies{Limits: Limits{PerEndpoint: 1, Pending: 3, PendingTime: 5 * time.Second}})
		one, two := b.hold(pool), b.hold(pool)
		served := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := pool.Acquire(plain(t.Context()))
				served <- err
			}()
			synctest.Wait()
		}
		pool.pending.mutex.Lock() // Blocks a woken request here.
		one.member.active.Add(-1)
		two.member.active.Add(-1)
		pool.state.InFlight.Add(-2)
		pool.pending.tickets[0].wake <- struct{}{}
		pool.pending.mutex.Unlock()
		began := time.Now()
		for range 2 {
			if err := <-served; err != nil || time.Since(began) > 0 {
				t.Errorf("after %v: %v", time.Since(began), err)
			}
		}
	})
}

// TestACountThatFailsLeavesNothing has the pool become full between the look at it and the count.
func TestACountThatFailsLeavesNothing(t *testing.T) {
	b := newRig(t, nil)
	pool := b.shop(1, Policies{Limits: Limits{PerPool: 1}})
	member := members(pool)["192.0.2.1:80"]
	pool.state.InFlight.Store(1)
	if pool.count(&Limits{PerPool: 1}, member) {
		t.Error("a full pool takes a request")
	}
	equal(t, "counted", member.active.Load(), int64(0))
}
