package datagram_test

import (
	"net/netip"
	"testing"

	"github.com/sluiceproxy/sluice/forward/datagram"
)

// TestEviction ends the session that was used least recently.
func TestEviction(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t, "a", loopback)
	r := newRig(t, setup{options: datagram.Options{MaxSessions: 3}, servers: []netip.AddrPort{e.addr()}})
	clients := []*client{r.dial(), r.dial(), r.dial(), r.dial()}
	for _, i := range []int{0, 1, 2, 0, 3} {
		clients[i].exchange("x", "a x")
	}
	if record := r.next(); record.Reason != datagram.Evicted || record.Client != clients[1].addr() {
		t.Errorf("got %+v, want the session of %v", record, clients[1].addr())
	}
	if got := r.Sessions(); got != 3 {
		t.Errorf("got %d sessions, want 3", got)
	}
	clients[1].exchange("x", "a x")
	if record := r.next(); record.Client != clients[2].addr() {
		t.Errorf("got %+v, want the session of %v", record, clients[2].addr())
	}
}

// TestEvictionSparesProvenClients does not end the session of a client that has answered because of many that have not.
func TestEvictionSparesProvenClients(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t, "a", loopback)
	r := newRig(t, setup{options: datagram.Options{MaxSessions: 8}, servers: []netip.AddrPort{e.addr()}})
	proven := r.dial()
	proven.exchange("x", "a x")
	proven.exchange("y", "a y")
	for range 20 {
		r.dial().exchange("z", "a z")
	}
	proven.exchange("y", "a y")
	r.stop()
	for range 20 - 7 {
		if record := r.next(); record.Client == proven.addr() || record.Reason != datagram.Evicted {
			t.Errorf("got %+v", record)
		}
	}
}

// TestClientLimit drops datagrams of further sessions of one client, and of no other.
func TestClientLimit(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t, "a", loopback)
	r := newRig(t, setup{
		options: datagram.Options{MaxSessionsPerClient: 2}, servers: []netip.AddrPort{e.addr()}, responses: 2,
	})
	first := r.dial()
	first.exchange("x", "a x")
	r.dial().exchange("x", "a x")
	third := r.dial()
	third.send("x")
	r.dropped(datagram.ClientLimit, 1)
	dial(t, "127.0.0.2", r.address).exchange("x", "a x")
	// The end of a session makes room.
	e.sendBack("y")
	if got := first.receive(); got != "y" {
		t.Errorf("got %q", got)
	}
	if record := r.next(); record.Reason != datagram.Responses {
		t.Errorf("got %+v", record)
	}
	third.exchange("x", "a x")
}

func TestNetwork(t *testing.T) {
	for addr, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "2001:db8:1:2:3::4": "2001:db8:1:2::", "fe80::1%3": "fe80::",
	} {
		if got := datagram.Network(netip.MustParseAddr(addr)); got.String() != want {
			t.Errorf("%s: got %s, want %s", addr, got, want)
		}
	}
}
