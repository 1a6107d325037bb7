package loadbalancer

import (
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer/picker"
)

// zoned writes down endpoints as address@zone or address@zone/hint.
func zoned(version uint64, zones map[string]string, hints map[string][]string) dynamic.EndpointSet {
	set := endpointSet(version, "192.0.2.1:80", "192.0.2.2:80", "192.0.2.3:80", "192.0.2.4:80")
	for i := range set.Endpoints {
		endpoint := &set.Endpoints[i]
		endpoint.Zone, endpoint.ZoneHints = zones[endpoint.Address.String()], hints[endpoint.Address.String()]
	}
	return set
}

func TestZones(t *testing.T) {
	zones := map[string]string{"192.0.2.1:80": "a", "192.0.2.2:80": "a", "192.0.2.3:80": "b", "192.0.2.4:80": "c"}
	hints := map[string][]string{
		"192.0.2.1:80": {"a"}, "192.0.2.2:80": {"b"}, "192.0.2.3:80": {"b", "c"},
		"192.0.2.4:80": {"c"},
	}
	partly := map[string][]string{"192.0.2.1:80": {"a"}}
	all := []string{"192.0.2.1:80", "192.0.2.2:80", "192.0.2.3:80", "192.0.2.4:80"}
	for _, test := range []struct {
		name, here string
		policy     ZonePolicy
		hints      map[string][]string
		want       []string
	}{
		{"nobody knows where we are", "", ZoneLocal, hints, all},
		{"hints", "b", ZoneHints, hints, []string{"192.0.2.2:80", "192.0.2.3:80"}},
		{"hints before zones", "a", ZoneLocal, hints, []string{"192.0.2.1:80"}},
		{"hints of some endpoints alone", "a", ZoneHints, partly, all},
		{"hints for other zones alone", "d", ZoneHints, hints, all},
		{"no hints", "a", ZoneHints, nil, all},
		{"zones", "a", ZoneLocal, nil, []string{"192.0.2.1:80", "192.0.2.2:80"}},
		{"a zone without endpoints", "d", ZoneLocal, nil, all},
		{"told not to look", "a", ZoneNone, hints, all},
	} {
		b := newRig(t, nil)
		b.Apply(zoned(1, zones, test.hints))
		pool := b.pool(PoolSpec{
			Name: "shop", Dialer: newLine(), Servers: []ServerSpec{following(web, 1)}, Policies: Policies{Zone: test.policy},
		})
		b.SetZone(test.here)
		b.pass(FlushInterval)
		equal(t, test.name, b.who(pool, 40), test.want)
	}
}

// TestAChangeOfHintsAlone moves the clients of a zone.
func TestAChangeOfHintsAlone(t *testing.T) {
	b := newRig(t, nil)
	b.SetZone("a")
	hint := func(version uint64, first string) {
		hints := map[string][]string{
			"192.0.2.1:80": {"b"}, "192.0.2.2:80": {"b"}, "192.0.2.3:80": {"b"},
			"192.0.2.4:80": {"b"},
		}
		hints[first] = []string{"a"}
		b.Apply(zoned(version, nil, hints))
		b.pass(FlushInterval)
	}
	pool := b.pool(PoolSpec{Name: "shop", Dialer: newLine(), Servers: []ServerSpec{following(web, 1)}})
	hint(1, "192.0.2.1:80")
	equal(t, "at first", b.who(pool, 10), []string{"192.0.2.1:80"})
	hint(2, "192.0.2.4:80")
	equal(t, "after the change", b.who(pool, 10), []string{"192.0.2.4:80"})
}

// TestZoneSpills fills the only endpoint of the zone: the others get what is beyond twice their load.
func TestZoneSpills(t *testing.T) {
	b := newRig(t, nil)
	b.SetZone("a")
	b.Apply(zoned(1, map[string]string{"192.0.2.1:80": "a"}, nil))
	pool := b.pool(PoolSpec{
		Name: "shop", Dialer: newLine(), Servers: []ServerSpec{following(web, 1)}, Policies: Policies{Zone: ZoneLocal},
	})
	b.pass(FlushInterval)
	load := map[string]int{}
	for range 100 { // None of them ends.
		member, err := pool.Acquire(&Request{})
		if err != nil {
			t.Fatal(err)
		}
		load[member.Address()]++
	}
	if near := load["192.0.2.1:80"]; near < 30 || near > 60 {
		t.Errorf("of 100 requests at a time %v go to the zone's only endpoint", load)
	}
	for _, address := range []string{"192.0.2.2:80", "192.0.2.3:80", "192.0.2.4:80"} {
		if far := load[address]; far < 10 {
			t.Errorf("%s has %d of %v", address, far, load)
		}
	}
	near := members(pool)["192.0.2.1:80"]
	member, err := pool.Acquire(&Request{Tried: []*Member{near}})
	if err != nil || member == near {
		t.Errorf("the next try of a request that the zone failed goes to %v, %v", member, err)
	}
}

// TestHashInAZone bounds the load of the zone's endpoints by what is in flight, and not by nothing.
func TestHashInAZone(t *testing.T) {
	b := newRig(t, nil)
	b.SetZone("a")
	b.Apply(zoned(1, map[string]string{"192.0.2.1:80": "a", "192.0.2.2:80": "a"}, nil))
	strategy, err := picker.NewStrategy(dynamic.StrategyHash, nil)
	if err != nil {
		t.Fatal(err)
	}
	pool := b.pool(PoolSpec{
		Name: "shop", Dialer: newLine(), Servers: []ServerSpec{following(web, 1)},
		Policies: Policies{Zone: ZoneLocal, Strategy: strategy},
	})
	b.pass(FlushInterval)
	snapshot, client := pool.Snapshot(), &picker.Request{Client: "198.51.100.1"}
	owner := snapshot.local.Pick(client)
	snapshot.candidates[owner].member.Endpoint().inFlight.Store(12)
	pool.state.InFlight.Store(20)
	equal(t, "with less than its part and what is allowed", snapshot.local.Pick(client), owner)
	snapshot.candidates[owner].member.Endpoint().inFlight.Store(30)
	equal(t, "with more", snapshot.local.Pick(client), 1-owner)
}
