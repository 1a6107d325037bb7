package loadbalancer

import (
	"net/netip"
	"testing"
)

// withholds makes a rig that notes what drains withhold, as pool and endpoint.
func withholds(t *testing.T) (b *rig, noted func() []string) {
	b = newRig(t, nil)
	var all []string
	b.options.Withheld = func(what Withheld) { all = append(all, what.Pool+" "+what.Endpoint) }
	return b, func() []string {
		defer func() { all = nil }()
		return all
	}
}

// TestDrainWithholdsLater reports a drain that begins to hold the last endpoint of a service, or a new one at its
// address: once each time.
func TestDrainWithholdsLater(t *testing.T) {
	b, noted := withholds(t)
	apply := func(version uint64, endpoints ...string) {
		b.Apply(endpointSet(version, endpoints...))
		b.pass(FlushInterval)
	}
	apply(1, first+"#a", second+"#b")
	b.pool(PoolSpec{Name: "web@file", Dialer: newLine(), Servers: []ServerSpec{following(web, 1)}})
	if err := b.drains(ofEndpoint(first), false); err != nil {
		t.Fatal(err)
	}
	equal(t, "withheld when another endpoint serves", len(noted()), 0)
	apply(2, first+"#a")
	equal(t, "withheld when the other one leaves", noted(), []string{"web@file "})
	equal(t, "state", b.reason("web@file", first), "draining: it is drained by hand; no endpoint of the service gets requests")
	equal(t, "unserved", b.Drains()[0].Unserved, []string{"web@file"})
	apply(3, first+"#a", "192.0.2.3:80!")
	apply(4, first+"#a")
	b.pool(PoolSpec{Name: "web@file", Dialer: newLine(), Servers: []ServerSpec{following(web, 1)}})
	equal(t, "withheld after a terminating one", noted(), []string{"web@file "})
	apply(5, first+"#a")
	b.pool(PoolSpec{Name: "web@file", Dialer: newLine(), Servers: []ServerSpec{following(web, 1)}})
	equal(t, "withheld by changes of no matter", len(noted()), 0)
	apply(6, first+"#c")
	equal(t, "withheld when a new endpoint has the address", noted(), []string{"web@file " + first})
	apply(7, first+"#c", second+"#b")
	equal(t, "withheld when another one comes", len(noted()), 0)
	equal(t, "unserved then", len(b.Drains()[0].Unserved), 0)
	equal(t, "state then", b.reason("web@file", first), "draining: it is drained by hand")
}

// TestDrainWithholdsAService reports it once, and not each endpoint that joins.
func TestDrainWithholdsAService(t *testing.T) {
	b, noted := withholds(t)
	b.Apply(endpointSet(1, first+"#a"))
	b.pool(PoolSpec{Name: "web@file", Dialer: newLine(), Servers: []ServerSpec{following(web, 1)}})
	b.pool(PoolSpec{Name: "tcp:db@file", Dialer: newLine(), Servers: servers(1)})
	if err := b.drains(DrainSelector{Service: "web@file"}, true); err != nil {
		t.Fatal(err)
	}
	b.Apply(endpointSet(2, first+"#a", second+"#b"))
	b.pass(FlushInterval)
	equal(t, "withheld", noted(), []string{"web@file "})
	// One of the endpoint holds it too. Both leave the pool without endpoints.
	drain := DrainSelector{Protocol: ProtocolTCP, Endpoint: netip.MustParseAddrPort(first)}
	if err := b.drains(drain, true); err != nil {
		t.Fatal(err)
	}
	equal(t, "withheld by the other one", noted(), []string{"tcp:db@file "})
	unserved := map[string][]string{}
	for _, one := range b.Drains() {
		unserved[one.Protocol] = one.Unserved
	}
	equal(t, "unserved", unserved, map[string][]string{ProtocolHTTP: {"web@file"}, ProtocolTCP: {"tcp:db@file"}})
}
