package loadbalancer

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	first  = "192.0.2.1:80"
	second = "192.0.2.2:80"
)

func ofEndpoint(address string) DrainSelector {
	return DrainSelector{Endpoint: netip.MustParseAddrPort(address)}
}

// drains begins a drain and publishes it.
func (b *rig) drains(selector DrainSelector, force bool) error {
	b.t.Helper()
	_, err := b.Drain(Drain{DrainSelector: selector, Since: b.now}, force)
	b.pass(FlushInterval)
	return err
}

// reason returns the state of an endpoint in a pool in words.
func (b *rig) reason(pool, address string) string {
	b.t.Helper()
	for _, status := range b.EndpointStatuses(EndpointQuery{Service: pool}) {
		for _, member := range status.Memberships(b.now) {
			if status.Address() == address && member.Service == pool {
				return strings.TrimSuffix(member.State.String()+": "+member.Reason, ": ")
			}
		}
	}
	return "unknown"
}

// TestDrain gives a drained endpoint no new requests, and closes the connections that no request uses.
func TestDrain(t *testing.T) {
	b, dialer := newRig(t, nil), newLine()
	b.Apply(endpointSet(1, "192.0.2.1:80#a", "192.0.2.2:80#b"))
	pool := b.pool(PoolSpec{Name: "web@file", Dialer: dialer, Servers: []ServerSpec{following(web, 1)}})
	under := members(pool)[first]
	under.upstream.begin()
	if err := b.drains(ofEndpoint(first), false); err != nil {
		t.Fatal(err)
	}
	equal(t, "state", b.reason("web@file", first), "draining: it is drained by hand")
	equal(t, "the endpoints", b.who(pool, 10), []string{second + "#b"})
	closed := dialer.calls
	under.Done(Result{})
	equal(t, "closed after the last request", dialer.calls, closed+1)

	// Another incarnation, another version of the service, and a pool that takes the place of this one are held too.
	b.Apply(endpointSet(2, "192.0.2.1:80#c", "192.0.2.2:80#b"))
	b.pass(FlushInterval)
	equal(t, "the endpoints when the uid is another one", b.who(pool, 10), []string{second + "#b"})
	b.pool(PoolSpec{Name: "web@file", Dialer: newLine(), Servers: []ServerSpec{following(web, 1)}})
	equal(t, "the endpoints after a reload", b.who(pool, 10), []string{second + "#b"})
	b.Release("web@file")
	pool = b.pool(PoolSpec{Name: "web@file", Dialer: dialer, Servers: []ServerSpec{following(web, 1)}})
	equal(t, "the endpoints in a new pool", b.who(pool, 10), []string{second + "#b"})

	ended := b.Undrain(ofEndpoint(first))
	b.pass(FlushInterval)
	equal(t, "drains that ended", len(ended), 1)
	equal(t, "drains that are left", len(b.Drains()), 0)
	equal(t, "the endpoints at the end", b.who(pool, 10), []string{first + "#c", second + "#b"})
	equal(t, "state at the end", b.reason("web@file", first), "serving")
}

// TestDrainNeverFallsBack has no drained endpoint serve where all others are down, as one of weight 0 does not.
func TestDrainNeverFallsBack(t *testing.T) {
	b := newRig(t, nil)
	pool := b.shop(2, Policies{Outlier: detection(t), Panic: 90})
	if err := b.drains(ofEndpoint(first), false); err != nil {
		t.Fatal(err)
	}
	b.fails(pool, second, 3)
	equal(t, "the endpoints", b.who(pool, 4), []string{second})
	if err := b.drains(ofEndpoint(second), true); err != nil {
		t.Fatal(err)
	}
	equal(t, "the endpoints without any", b.who(pool, 4), []string{"nobody"})
	equal(t, "up", pool.Up(), false)
}

// TestDrainKeepsClients leaves sticky clients with their endpoint.
func TestDrainKeepsClients(t *testing.T) {
	b := newRig(t, nil)
	pool := b.shop(2, Policies{Sticks: true, Cookie: cookie(t)})
	var given, address string
	for address != first {
		address, given = b.asks(pool, "")
	}
	given, _, _ = strings.Cut(given, ";")
	if err := b.drains(ofEndpoint(first), false); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		address, _ = b.asks(pool, given)
		equal(t, "the endpoint of the client", address, first)
		address, _ = b.asks(pool, "")
		equal(t, "the endpoint of a new client", address, second)
	}
}

// TestDrainSelects drains by protocol, service and endpoint, and refuses to leave a service without endpoints.
func TestDrainSelects(t *testing.T) {
	b := newRig(t, nil)
	for _, name := range []string{"web@file", "api@file", "tcp:web@file"} {
		b.pool(PoolSpec{Name: name, Dialer: newLine(), Servers: servers(2)})
	}
	b.pool(PoolSpec{Name: "one@file", Dialer: newLine(), Servers: servers(1)})
	tests := []struct {
		name     string
		selector DrainSelector
		force    bool
		held     []string // of the pools whose first endpoint is drained
		refused  string
	}{
		{
			"an endpoint of a service",
			DrainSelector{Service: "web@file", Endpoint: netip.MustParseAddrPort(first)},
			false,
			[]string{"web@file"},
			"",
		},
		{
			"an endpoint of a TCP service",
			DrainSelector{"tcp", "web@file", netip.MustParseAddrPort(first)},
			false,
			[]string{"tcp:web@file"},
			"",
		},
		{"an endpoint of all", ofEndpoint(first), false, nil, "no endpoint would be left to serve one@file"},
		{"an endpoint of all by force", ofEndpoint(first), true, []string{
			"api@file", "one@file", "tcp:web@file", "web@file",
		}, ""},
		{"an endpoint of all of HTTP", DrainSelector{"http", "", netip.MustParseAddrPort(first)}, true, []string{
			"api@file", "one@file", "web@file",
		}, ""},
		{"a service", DrainSelector{Service: "api@file"}, false, nil, "no endpoint would be left to serve api@file"},
		{"a service by force", DrainSelector{Service: "api@file"}, true, []string{"api@file"}, ""},
		{"a TCP service", DrainSelector{Protocol: "tcp", Service: "web@file"}, false, nil, "to serve web@file (tcp)"},
		{"no such service", DrainSelector{Service: "none@file"}, true, nil, ErrNotBalanced.Error()},
		{"no such endpoint", ofEndpoint("192.0.2.9:80"), true, nil, ErrNotBalanced.Error()},
		{"nothing", DrainSelector{Protocol: "http"}, true, nil, ErrNotBalanced.Error()},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := b.drains(test.selector, test.force)
			if (err != nil) != (test.refused != "") || err != nil && !strings.Contains(err.Error(), test.refused) {
				t.Errorf("error %v, want %q", err, test.refused)
			}
			var held []string
			for pool := range b.Pools() {
				if strings.Contains(b.reason(pool.Name(), first), "drained by hand") {
					held = append(held, pool.Name())
				}
			}
			slices.Sort(held)
			equal(t, "drained in", held, test.held)
			b.Undrain(test.selector)
			b.pass(FlushInterval)
			equal(t, "drains that are left", len(b.Drains()), 0)
		})
	}
}

// TestDrainOfTheLast counts drains that have not been published yet, and endpoints that come back.
func TestDrainOfTheLast(t *testing.T) {
	b := newRig(t, nil)
	b.shop(2, Policies{})
	b.pass(time.Hour)
	drain := func(address string) error {
		_, err := b.Drain(Drain{DrainSelector: ofEndpoint(address)}, false)
		return err
	}
	if err := drain(first); err != nil {
		t.Fatal(err)
	}
	if err := drain(first); err != nil {
		t.Errorf("the same again: %v", err)
	}
	if _, last := errors.AsType[*LastEndpointError](drain(second)); !last {
		t.Error("the last endpoint was drained before the first drain was published")
	}
	b.pass(FlushInterval)
	if _, last := errors.AsType[*LastEndpointError](drain(second)); !last {
		t.Error("the last endpoint was drained")
	}
	b.Undrain(ofEndpoint(first))
	if err := drain(second); err != nil {
		t.Errorf("when the other one has come back: %v", err)
	}
}

// TestDrainExpires ends drains in time, and has slow start treat what comes back as new.
func TestDrainExpires(t *testing.T) {
	b := newRig(t, nil)
	var ended []Drain
	b.options.Undrained = func(drain Drain) { ended = append(ended, drain) }
	pool := b.shop(2, Policies{SlowStart: time.Minute})
	b.pass(time.Hour)
	begins := b.now
	if _, err := b.Drain(Drain{DrainSelector: ofEndpoint(first), Since: begins, Until: begins.Add(time.Minute)},
		false); err != nil {
		t.Fatal(err)
	}
	b.pass(FlushInterval)
	if next := b.Flush(b.now); !next.Equal(begins.Add(time.Minute)) {
		t.Errorf("the next flush is after %v", next.Sub(begins))
	}
	b.pass(time.Minute - 2*FlushInterval)
	equal(t, "the endpoints before", b.who(pool, 10), []string{second})
	b.pass(2 * FlushInterval)
	equal(t, "the endpoints after", b.who(pool, 100), []string{first, second})
	equal(t, "drains that ended", len(ended), 1)
	equal(t, "drains that are left", len(b.Drains()), 0)
	for _, status := range b.EndpointStatuses(EndpointQuery{Search: first}) {
		if factor := status.Memberships(b.now)[0].SlowStart; factor >= 1 {
			t.Errorf("what comes back has %v of its share", factor)
		}
	}
	if next := b.Flush(b.now.Add(time.Hour)); !next.IsZero() {
		t.Errorf("the next flush is %v away at the end", next.Sub(b.now))
	}
}

// TestUndrainEncloses ends the drains of an endpoint in every service, and those of a service.
func TestUndrainEncloses(t *testing.T) {
	b := newRig(t, nil)
	for _, name := range []string{"web@file", "api@file"} {
		b.pool(PoolSpec{Name: name, Dialer: newLine(), Servers: servers(3)})
	}
	begin := func() {
		for _, selector := range []DrainSelector{
			{"http", "web@file", netip.MustParseAddrPort(first)},
			{"http", "api@file", netip.MustParseAddrPort(first)},
			{"http", "web@file", netip.MustParseAddrPort(second)},
		} {
			if err := b.drains(selector, false); err != nil {
				t.Fatal(err)
			}
		}
	}
	begin()
	equal(t, "ended by the endpoint", len(b.Undrain(ofEndpoint(first))), 2)
	equal(t, "left", len(b.Drains()), 1)
	begin()
	equal(t, "ended by the service", len(b.Undrain(DrainSelector{Service: "web@file"})), 2)
	equal(t, "ended by nothing", len(b.Undrain(DrainSelector{})), 0)
	equal(t, "left by the service", len(b.Drains()), 1)
}
