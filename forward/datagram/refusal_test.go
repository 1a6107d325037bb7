package datagram_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward/datagram"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/loadbalancer/outlier"
	"github.com/sluiceproxy/sluice/loadbalancer/picker"
)

// TestRefusedDatagram goes to another endpoint, and so does what follows.
func TestRefusedDatagram(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t, "a", loopback)
	gone := refusing(t)
	r := newRig(t, setup{servers: []netip.AddrPort{gone, e.addr()}})
	for range 4 { // Some of the sessions begin with the endpoint that is gone.
		c := r.dial()
		c.exchange("x", "a x")
		c.exchange("y", "a y")
	}
	r.stop()
	refused := 0
	for ended := 0; ended < 4; {
		record := r.next()
		switch record.Reason {
		case datagram.Refused:
			refused++
			if record.Endpoint != gone || record.FromClient.Datagrams != 1 {
				t.Errorf("got %+v", record)
			}
		default:
			ended++
			if record.Endpoint != e.addr() || record.FromClient.Datagrams != 2 {
				t.Errorf("got %+v", record)
			}
		}
	}
	if refused == 0 {
		t.Error("no datagram was refused")
	}
	if got := r.Dropped(datagram.NoEndpoint); got != 0 {
		t.Errorf("%d datagrams were dropped", got)
	}
}

// TestRefusedByAll drops a datagram that all endpoints refuse, and sends the next one again.
func TestRefusedByAll(t *testing.T) {
	t.Parallel()
	gone := refusing(t)
	r := newRig(t, setup{servers: []netip.AddrPort{gone}})
	c := r.dial()
	c.send("x")
	if record := r.next(); record.Reason != datagram.Refused {
		t.Errorf("got %+v", record)
	}
	r.dropped(datagram.NoEndpoint, 1)
	newEndpoint(t, "back", gone.String())
	c.exchange("y", "back y")
}

// TestEndpointGoesAway sends what the endpoint of a session refuses after it has answered to another one.
func TestEndpointGoesAway(t *testing.T) {
	t.Parallel()
	a, b := newEndpoint(t, "a", loopback), newEndpoint(t, "b", loopback)
	r := newRig(t, setup{servers: []netip.AddrPort{a.addr(), b.addr()}})
	c := r.dial()
	c.send("x")
	first, other := a, b
	if got := c.receive(); got == "b x" {
		first, other = b, a
	}
	refuse(t, first.conn)
	c.exchange("y", other.name+" y")
	c.exchange("z", other.name+" z")
}

// TestEjection takes out an endpoint that refuses datagrams, also when those before were answered; answers in between
// begin a new count.
func TestEjection(t *testing.T) {
	t.Parallel()
	detection := &dynamic.OutlierDetection{}
	detection.SetDefaults()
	policy, err := outlier.NewPolicy(nil, detection)
	if err != nil {
		t.Fatal(err)
	}
	e := newEndpoint(t, "a", loopback)
	gone := refusing(t)
	policies := loadbalancer.Policies{Outlier: policy}
	r := newRig(t, setup{servers: []netip.AddrPort{e.addr(), gone}, policies: policies, responses: 1})
	ejected := func() bool {
		r.registry.Flush(time.Now())
		for state := range r.pool.Snapshot().States() {
			if state == loadbalancer.Ejected {
				return true
			}
		}
		return false
	}
	refusals := func(n int) {
		for n > 0 {
			r.dial().exchange("x", "a x")
			for r.next().Reason == datagram.Refused {
				n--
			}
		}
	}
	refusals(outlier.DefaultConsecutiveFailures - 1)
	back := newEndpoint(t, "b", gone.String())
	for len(back.got) == 0 {
		r.dial().send("x")
		r.next()
	}
	_ = back.conn.Close()
	refusals(outlier.DefaultConsecutiveFailures - 1)
	if ejected() {
		t.Fatal("ejected by failures that were not consecutive")
	}
	refusals(1)
	eventually(t, ejected, "ejection")
}

// TestHash keeps the sessions of a client's address on one endpoint.
func TestHash(t *testing.T) {
	t.Parallel()
	a, b := newEndpoint(t, "a", loopback), newEndpoint(t, "b", loopback)
	for _, name := range []string{dynamic.StrategyHash, dynamic.StrategyHRW} {
		var options *dynamic.HashStrategy
		if name == dynamic.StrategyHash {
			options = &dynamic.HashStrategy{BoundedLoad: new(0)}
		}
		strategy, err := picker.NewStrategy(name, options)
		if err != nil {
			t.Fatal(err)
		}
		policies := loadbalancer.Policies{Strategy: strategy}
		r := newRig(t, setup{servers: []netip.AddrPort{a.addr(), b.addr()}, policies: policies})
		seen := map[string]bool{}
		for host := byte(1); host <= 32; host++ {
			from := netip.AddrFrom4([4]byte{127, 0, 0, host}).String()
			c := dial(t, from, r.address)
			c.send("x")
			answer := c.receive()
			seen[answer] = true
			for range 3 {
				dial(t, from, r.address).exchange("x", answer)
			}
		}
		if len(seen) != 2 {
			t.Errorf("%s: all clients got %v", name, seen)
		}
		r.stop()
	}
}

// TestWeighted divides sessions by weight, and goes on where the last service has stood.
func TestWeighted(t *testing.T) {
	t.Parallel()
	a, b := newEndpoint(t, "a", loopback), newEndpoint(t, "b", loopback)
	r := newRig(t, setup{servers: []netip.AddrPort{a.addr()}})
	other := r.newPool("b@file", loadbalancer.Policies{}, b.addr())
	state := datagram.NewState()
	route := func(weights ...int) {
		r.router.Set(&datagram.Route{RouterName: "all@file", Service: datagram.NewWeighted([]datagram.Child{
			{Service: datagram.NewPool(r.pool, 0), Weight: weights[0]},
			{Service: datagram.NewPool(other, 0), Weight: weights[1]},
		}, state)})
	}
	got := map[string]int{}
	for range 4 { // Eight sessions, with a new service after every second one.
		route(3, 1)
		for range 2 {
			c := r.dial()
			c.send("x")
			got[c.receive()]++
		}
	}
	if got["a x"] != 6 || got["b x"] != 2 {
		t.Errorf("got %v", got)
	}
	route(0, 0)
	r.dial().send("x")
	r.dropped(datagram.NoEndpoint, 1)
	// Sessions of a child without an endpoint are opened at another one.
	empty := r.newPool("empty@file", loadbalancer.Policies{})
	r.router.Set(&datagram.Route{RouterName: "all@file", Service: datagram.NewWeighted([]datagram.Child{
		{Service: datagram.NewPool(empty, 0), Weight: 3}, {Service: datagram.NewPool(other, 0), Weight: 1},
	}, datagram.NewState())})
	for range 4 {
		c := r.dial()
		c.send("y")
		if got := c.receive(); got != "b y" {
			t.Errorf("got %q", got)
		}
	}
}
