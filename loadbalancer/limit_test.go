package loadbalancer

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
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
		b := newBook(t, nil)
		pool := b.shop(2, Policies{Limits: test.limits})
		var under []*Member
		for range test.most {
			member, err := pool.Acquire(plain(t.Context()))
			if err != nil {
				t.Fatalf("limits %s: request %d: %v", test.name, len(under)+1, err)
			}
			under = append(under, member)
		}
		_, err := pool.Acquire(plain(t.Context()))
		if refused := refusal(t, err); !refused.Saturated || !strings.Contains(refused.Reason, "limits") {
			t.Errorf("limits %s: refused because %s", test.name, refused.Reason)
		}
		for _, member := range under {
			member.Done(Result{})
		}
		member, err := pool.Acquire(plain(t.Context()))
		if err != nil {
			t.Fatalf("limits %s: after all have ended: %v", test.name, err)
		}
		member.Done(Result{})
		equal(t, "in flight", pool.state.InFlight.Load(), int64(0))
	}
}

// TestLimitsOfAReload begins requests under no limit, under one, and under none again: what is counted must come out even.
func TestLimitsOfAReload(t *testing.T) {
	b := newBook(t, nil)
	spec := PoolSpec{Name: "shop", Dialer: newLine(), Servers: servers(1)}
	pool := b.Pool(spec)
	var under []*Member
	for step := range 6 {
		spec.Limits = Limits{PerEndpoint: 5 * (step % 2)}
		b.Pool(spec)
		for range 4 {
			member, err := pool.Acquire(plain(t.Context()))
			if err != nil {
				t.Fatal(err)
			}
			under = append(under, member)
		}
	}
	for _, member := range under {
		member.Done(Result{})
	}
	equal(t, "in flight", []int64{pool.state.InFlight.Load(), members(pool)["192.0.2.1:80"].active.Load()}, []int64{0, 0})
}

func TestPendingRequestsWaitInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook(t, nil)
		pool := b.shop(1, Policies{Limits: Limits{PerEndpoint: 1, Pending: 3, PendingTime: 5 * time.Second}})
		running, err := pool.Acquire(plain(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		type got struct {
			number int
			member *Member
			err    error
		}
		served := make(chan got, 3)
		begin := func(ctx context.Context, number int) {
			go func() {
				member, err := pool.Acquire(plain(ctx))
				served <- got{number, member, err}
			}()
			synctest.Wait()
		}
		leaving, leave := context.WithCancel(t.Context())
		begin(t.Context(), 1)
		begin(leaving, 2)
		begin(t.Context(), 3)
		_, err = pool.Acquire(plain(t.Context()))
		equal(t, "one too many", refusal(t, err).Reason, "3 requests wait for an endpoint already")
		leave()
		if second := <-served; second.number != 2 || !errors.Is(second.err, context.Canceled) {
			t.Fatalf("the client that left: %+v", second)
		}
		running.Done(Result{})
		first := <-served
		if first.number != 1 || first.err != nil {
			t.Fatalf("first served: %+v", first)
		}
		pass(5 * time.Second)
		if third := <-served; third.number != 3 || refusal(t, third.err).Reason != "no endpoint became free within 5s" {
			t.Fatalf("the one that waited too long: %+v", third)
		}
		first.member.Done(Result{})
		if member, err := pool.Acquire(plain(t.Context())); err != nil {
			t.Errorf("with nobody waiting: %v", err)
		} else {
			member.Done(Result{})
		}
	})
}

// TestPendingRequestsTakeNewEndpoints has an endpoint join while requests wait.
func TestPendingRequestsTakeNewEndpoints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook(t, nil)
		b.Apply(endpointSet(1, "192.0.2.1:80"))
		pool := b.Pool(PoolSpec{
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
