package datagram_test

import (
	"net/netip"
	"testing"

	"github.com/sluiceproxy/sluice/forward/datagram"
	"github.com/sluiceproxy/sluice/httpio/descriptors"
	"github.com/sluiceproxy/sluice/httpio/descriptors/descriptorstest"
)

// TestReservedDescriptors opens no session with a descriptor in reserve: one that is idle makes room, or Sluice drops
// the datagram where there is none.
func TestReservedDescriptors(t *testing.T) {
	descriptorstest.InChild(t, 128, func(t *testing.T) {
		e := newEndpoint(t, "a", loopback)
		r := newRig(t, setup{
			options: datagram.Options{Descriptors: descriptors.New(16)}, servers: []netip.AddrPort{e.addr()}, noRoute: true,
		})
		clients := []*client{r.dial(), r.dial()}
		clients[0].send("x")
		r.dropped(datagram.NoRoute, 1) // So the server has all descriptors of its own.
		r.router.Set(&datagram.Route{RouterName: "all@file", Service: datagram.NewPool(r.pool, 0)})
		release := descriptorstest.Fill(t)
		release(16)
		clients[0].send("x")
		r.dropped(datagram.Resources, 1)
		release(1)
		clients[0].exchange("x", "a x")
		clients[1].exchange("y", "a y")
		if record := r.next(); record.Reason != datagram.Evicted || record.Client != clients[0].addr() {
			t.Errorf("got %+v, want the session of %v", record, clients[0].addr())
		}
	})
}
