package datagram_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/forward/datagram"
	"github.com/sluiceproxy/sluice/loadbalancer"
)

// TestSessions gives two clients sessions of their own, and reports them.
func TestSessions(t *testing.T) {
	t.Parallel()
	for _, listen := range []string{loopback, "[::1]:0"} {
		e := newEndpoint(t, "a", listen)
		r := newRig(t, setup{listen: listen, servers: []netip.AddrPort{e.addr()}})
		one, two := r.dial(), r.dial()
		for range 3 {
			one.exchange("x", "a x")
			two.exchange("yy", "a yy")
		}
		if got := e.sources(); got != 2 {
			t.Errorf("the endpoint has seen %d sources, want 2", got)
		}
		if got := r.Sessions(); got != 2 {
			t.Errorf("got %d sessions, want 2", got)
		}
		before := time.Now()
		r.stop()
		for range 2 {
			record, bytes := r.next(), uint64(1)
			if record.Client == two.addr() {
				bytes = 2
			} else if record.Client != one.addr() {
				t.Errorf("client %v", record.Client)
			}
			if record.Began.After(before) || record.Duration <= 0 {
				t.Errorf("began at %v for %v", record.Began, record.Duration)
			}
			want := datagram.Record{
				EntryPoint: "dns", Router: "all@file", Service: "names@file", Client: record.Client, Endpoint: e.addr(),
				Began: record.Began, Duration: record.Duration, FromClient: datagram.Traffic{Datagrams: 3, Bytes: 3 * bytes},
				FromEndpoint: datagram.Traffic{Datagrams: 3, Bytes: 3 * (bytes + 2)}, Reason: datagram.Shutdown,
			}
			if record != want {
				t.Errorf("got  %+v\nwant %+v", record, want)
			}
		}
		if got := r.Sessions(); got != 0 {
			t.Errorf("%d sessions are left", got)
		}
		if got := e.inFlight(r.pool); got != 0 {
			t.Errorf("%d sessions are counted at the endpoint", got)
		}
	}
}

// inFlight returns how many sessions the pool counts.
func (e *endpoint) inFlight(pool *loadbalancer.Pool) int {
	for member := range pool.Snapshot().Members() {
		if member.Endpoint().Key().Address == e.addr() {
			return member.Endpoint().InFlight()
		}
	}
	return -1
}

// TestDatagramsOfAllSizes passes on the empty and the longest datagram.
func TestDatagramsOfAllSizes(t *testing.T) {
	t.Parallel()
	e := serveEndpoint(t, "a", loopback, func(e *endpoint, text string, from netip.AddrPort) {
		_, _ = e.conn.WriteToUDPAddrPort([]byte(text), from)
	})
	r := newRig(t, setup{servers: []netip.AddrPort{e.addr()}})
	c := r.dial()
	for _, size := range []int{0, 1, 1472, 1473, 9000, 65507} {
		text := strings.Repeat("x", size)
		c.send(text)
		if got := c.receive(); got != text {
			t.Errorf("%d bytes: got %d", size, len(got))
		}
	}
}

// TestIdle ends a session when nothing has come from either side for the time-out, and not before.
func TestIdle(t *testing.T) {
	t.Parallel()
	const timeout = 2 * time.Second // An answer has to come in it, also on a busy machine.
	e := newEndpoint(t, "a", loopback)
	r := newRig(t, setup{options: datagram.Options{Timeout: timeout}, servers: []netip.AddrPort{e.addr()}})
	c := r.dial()
	// kept reports whether the endpoint alone has kept a session for longer than the time-out. It has not if the machine
	// was busy for so long.
	var active time.Duration
	kept := func() bool {
		c.exchange("x", "a x")
		began := time.Now()
		pause := time.NewTicker(timeout / 8)
		defer pause.Stop()
		for range 12 {
			<-pause.C
			active = time.Since(began)
			e.sendTo(e.sources()-1, "more")
			if _, err := c.receiveWithin(timeout); err != nil {
				return false
			}
		}
		return true
	}
	const most = 10
	for n, more := 1, true; more; n++ {
		more = !kept()
		if more && n == most {
			t.Fatalf("the endpoint has not kept %d sessions", most)
		}
		record := r.next()
		if record.Reason != datagram.Idle || record.Duration < timeout {
			t.Errorf("%v after %v", record.Reason, record.Duration)
		}
		if !more && record.Duration < active+timeout {
			t.Errorf("idle after %v, with traffic for %v", record.Duration, active)
		}
	}
	before := e.sources()
	c.exchange("again", "a again")
	if e.sources() != before+1 {
		t.Error("the new session has the socket of the old one")
	}
}

// TestResponses ends a session after the expected answers to each datagram of the client.
func TestResponses(t *testing.T) {
	t.Parallel()
	e := serveEndpoint(t, "a", loopback, func(e *endpoint, text string, from netip.AddrPort) {
		if text == "first" {
			return // Answered with the second.
		}
		for _, answer := range []string{"1", "2", "3"} {
			_, _ = e.conn.WriteToUDPAddrPort([]byte(answer), from)
		}
	})
	r := newRig(t, setup{servers: []netip.AddrPort{e.addr()}, responses: 1})
	c := r.dial()
	c.send("first") // Resolvers send the questions for A and AAAA from one port.
	receive(t, e.got)
	c.send("second")
	if got := c.receive() + c.receive(); got != "12" {
		t.Errorf("got %q", got)
	}
	record := r.next()
	if record.Reason != datagram.Responses || record.FromEndpoint.Datagrams != 2 || record.FromClient.Datagrams != 2 {
		t.Errorf("got %+v", record)
	}
	c.send("single")
	if got := c.receive(); got != "1" {
		t.Errorf("a late answer %q has come", got)
	}
	if record = r.next(); record.Reason != datagram.Responses || record.FromEndpoint.Datagrams != 1 {
		t.Errorf("got %+v", record)
	}
}

// TestRoutes drops datagrams without a route or an endpoint. A change of the route is for new sessions.
func TestRoutes(t *testing.T) {
	t.Parallel()
	a, b := newEndpoint(t, "a", loopback), newEndpoint(t, "b", loopback)
	r := newRig(t, setup{servers: []netip.AddrPort{a.addr()}, noRoute: true})
	one, two := r.dial(), r.dial()
	one.send("x")
	r.dropped(datagram.NoRoute, 1)
	empty := r.newPool("empty@file", loadbalancer.Policies{})
	r.router.Set(&datagram.Route{RouterName: "empty@file", Service: datagram.NewPool(empty, 0)})
	one.send("x")
	r.dropped(datagram.NoEndpoint, 1)
	r.router.Set(&datagram.Route{RouterName: "a@file", Service: datagram.NewPool(r.pool, 0), Generation: 7})
	one.exchange("x", "a x")
	other := r.newPool("b@file", loadbalancer.Policies{}, b.addr())
	r.router.Set(&datagram.Route{RouterName: "b@file", Service: datagram.NewPool(other, 0), Generation: 8})
	one.exchange("x", "a x")
	two.exchange("x", "b x")
	r.router.Set(nil)
	one.exchange("x", "a x")
	r.dial().send("x")
	r.dropped(datagram.NoRoute, 2)
	if got := r.Sessions(); got != 2 {
		t.Errorf("got %d sessions, want 2", got)
	}
	r.stop()
	for range 2 {
		want := map[string]uint64{"a@file": 7, "b@file": 8}
		if record := r.next(); record.Generation == 0 || record.Generation != want[record.Router] {
			t.Errorf("a session of %s is of generation %d", record.Router, record.Generation)
		}
	}
}

// TestEndpointsThatLeave keeps sessions until the drain time is over.
func TestEndpointsThatLeave(t *testing.T) {
	t.Parallel()
	const drain = 300 * time.Millisecond
	a, b := newEndpoint(t, "a", loopback), newEndpoint(t, "b", loopback)
	policies := loadbalancer.Policies{DrainTime: drain}
	r := newRig(t, setup{servers: []netip.AddrPort{a.addr()}, policies: policies})
	one, two := r.dial(), r.dial()
	one.exchange("x", "a x")
	left := time.Now()
	r.newPool("names@file", policies, b.addr())
	two.exchange("x", "b x")
	one.exchange("x", "a x")
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for r.Sessions() == 2 {
		r.registry.Flush(<-tick.C)
	}
	if took := time.Since(left); took < drain {
		t.Errorf("the session is over after %v", took)
	}
	if record := r.next(); record.Reason != datagram.Drained || record.Client != one.addr() {
		t.Errorf("got %+v", record)
	}
	one.exchange("x", "b x")
	two.exchange("x", "b x")
}

// TestDraining takes no new sessions, and lets those that there are go on until the last is over.
func TestDraining(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t, "a", loopback)
	r := newRig(t, setup{servers: []netip.AddrPort{e.addr()}, responses: 2})
	c := r.dial()
	c.exchange("x", "a x")
	short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := r.Shutdown(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while there is a session: %v", err)
	}
	r.dial().send("x")
	r.dropped(datagram.Draining, 1)
	ended := make(chan error, 1)
	go func() { ended <- r.Shutdown(t.Context()) }()
	// Each datagram makes room for two answers, and is answered once; the endpoint sends what is missing.
	c.exchange("y", "a y")
	select {
	case err := <-ended:
		t.Fatalf("drained with a session: %v", err)
	default:
	}
	for range 2 {
		e.sendBack("last")
	}
	if got := c.receive() + c.receive(); got != "lastlast" {
		t.Errorf("got %q", got)
	}
	if err := receive(t, ended); err != nil {
		t.Error(err)
	}
}
