package resource_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/xds/resource"
)

// endpointsOf reads endpoints as address, address@zone or address@zone! for a terminating one; the port is 80.
func endpointsOf(text string) []dynamic.Endpoint {
	var all []dynamic.Endpoint
	for field := range strings.FieldsSeq(text) {
		field, terminating := strings.CutSuffix(field, "!")
		address, zone, _ := strings.Cut(field, "@")
		all = append(all, dynamic.Endpoint{
			Address: netip.AddrPortFrom(netip.MustParseAddr(address), 80), Zone: zone, Terminating: terminating,
		})
	}
	return all
}

// lines returns an assignment as text: a line for each locality, with ! behind draining endpoints.
func lines(t testing.TB, assignment *endpointv3.ClusterLoadAssignment) []string {
	t.Helper()
	valid(t, assignment)
	var out []string
	for _, group := range assignment.GetEndpoints() {
		line := fmt.Sprintf("%s/%s %d:", group.GetLocality().GetZone(), group.GetLocality().GetSubZone(),
			group.GetLoadBalancingWeight().GetValue())
		if group.GetLocality() == nil || group.GetPriority() != 0 {
			t.Errorf("%v: no locality, or another priority", group)
		}
		for _, one := range group.GetLbEndpoints() {
			line += " " + one.GetEndpoint().GetAddress().GetSocketAddress().GetAddress()
			if one.GetHealthStatus() == corev3.HealthStatus_DRAINING {
				line += "!"
			}
			if one.GetLoadBalancingWeight() != nil {
				t.Errorf("%v has a weight", one)
			}
		}
		out = append(out, line)
	}
	return out
}

func TestAssignment(t *testing.T) {
	for _, test := range []struct {
		name, endpoints string
		want            []string
	}{
		{"none", "", nil},
		{"one", "192.0.2.1", []string{"/ 1: 192.0.2.1"}},
		{"zones in order", "192.0.2.3@b 192.0.2.2@a 192.0.2.1@b", []string{"a/ 1: 192.0.2.2", "b/ 2: 192.0.2.1 192.0.2.3"}},
		{"with and without zone", "192.0.2.1@a 192.0.2.2", []string{"/ 1: 192.0.2.2", "a/ 1: 192.0.2.1"}},
		{"IPv6", "2001:db8::1 192.0.2.1", []string{"/ 2: 192.0.2.1 2001:db8::1"}},
		{"duplicates", "192.0.2.1@a 192.0.2.1@b 192.0.2.2@a", []string{"a/ 2: 192.0.2.1 192.0.2.2"}},
		{"draining", "192.0.2.1@a! 192.0.2.2@a", []string{"a/ 1: 192.0.2.1! 192.0.2.2"}},
		{"draining zone", "192.0.2.1@a! 192.0.2.2@b", []string{"a/ 0: 192.0.2.1!", "b/ 1: 192.0.2.2"}},
		{"all terminating", "192.0.2.1@a! 192.0.2.2@b!", []string{"a/ 1: 192.0.2.1", "b/ 1: 192.0.2.2"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			assignment := resource.Assignment("name", endpointsOf(test.endpoints))
			if diff := cmp.Diff(test.want, lines(t, assignment)); diff != "" {
				t.Errorf("localities (-want +got):\n%s", diff)
			}
			if assignment.GetClusterName() != "name" {
				t.Errorf("the name is %q", assignment.GetClusterName())
			}
		})
	}
	odd := []dynamic.Endpoint{{}, {Address: netip.AddrPortFrom(netip.MustParseAddr("192.0.2.1"), 0)}}
	if got := lines(t, resource.Assignment("name", odd)); got != nil {
		t.Errorf("endpoints without address or port: %q", got)
	}
}

// sets is a set of endpoint sets.
type sets map[string]dynamic.EndpointSet

func (s sets) get(key string) (dynamic.EndpointSet, bool) {
	set, ok := s[key]
	return set, ok
}

// mixedOf reads servers as weight*address or weight*key.
func mixedOf(text string) resource.Mixed {
	mixed := resource.Mixed{Name: "name"}
	for field := range strings.FieldsSeq(text) {
		var spec loadbalancer.ServerSpec
		if _, err := fmt.Sscanf(field, "%d*%s", &spec.Weight, &spec.SetKey); err != nil {
			panic(err)
		}
		if address, err := netip.ParseAddr(spec.SetKey); err == nil {
			spec.SetKey, spec.Address = "", netip.AddrPortFrom(address, 80)
		}
		mixed.Servers = append(mixed.Servers, spec)
	}
	return mixed
}

func TestMixed(t *testing.T) {
	for _, test := range []struct {
		name, servers string
		sets          map[string]string
		want          []string
	}{
		{"none", "", nil, nil},
		{"equal", "1*192.0.2.2 1*192.0.2.1", nil, []string{"/ 2: 192.0.2.1 192.0.2.2"}},
		{"equal but not 1", "3*192.0.2.1 3*192.0.2.2", nil, []string{"/weight-3 6: 192.0.2.1 192.0.2.2"}},
		{
			"weights", "1*192.0.2.1 10*192.0.2.2 1*192.0.2.3", nil,
			[]string{"/ 2: 192.0.2.1 192.0.2.3", "/weight-10 10: 192.0.2.2"},
		},
		{"a server twice", "1*192.0.2.1 2*192.0.2.1 1*192.0.2.2", nil, []string{"/ 1: 192.0.2.2", "/weight-3 3: 192.0.2.1"}},
		{
			"weight 0 drains", "0*192.0.2.1 1*192.0.2.2", nil,
			[]string{"/weight-0 0: 192.0.2.1!", "/ 1: 192.0.2.2"},
		},
		{
			"all of weight 0", "0*192.0.2.1 0*a",
			map[string]string{"a": "192.0.2.2!"},
			[]string{"/weight-0 0: 192.0.2.1!", "/server-1 0: 192.0.2.2!"},
		},
		{"unknown set", "1*a 1*192.0.2.1", nil, []string{"/ 1: 192.0.2.1"}},
		{
			"sets with a part each", "1*a 1*b",
			map[string]string{"a": "192.0.2.1 192.0.2.2", "b": "192.0.2.3 192.0.2.4 192.0.2.5"},
			[]string{"/server-0 1: 192.0.2.1 192.0.2.2", "/server-1 1: 192.0.2.3 192.0.2.4 192.0.2.5"},
		},
		{
			"set and address", "3*a 1*192.0.2.9",
			map[string]string{"a": "192.0.2.1@x 192.0.2.2@x 192.0.2.3@y"},
			[]string{"/ 1: 192.0.2.9", "x/server-0 2: 192.0.2.1 192.0.2.2", "y/server-0 1: 192.0.2.3"},
		},
		{
			"draining endpoints have no part", "1*a 1*192.0.2.9",
			map[string]string{"a": "192.0.2.1 192.0.2.2!"},
			[]string{"/ 1: 192.0.2.9", "/server-0 1: 192.0.2.1 192.0.2.2!"},
		},
		{
			"a draining set", "1*a 1*192.0.2.9",
			map[string]string{"a": "192.0.2.1! 192.0.2.2!"},
			[]string{"/ 1: 192.0.2.9", "/server-0 0: 192.0.2.1! 192.0.2.2!"},
		},
		{
			"only terminating ones", "1*a 0*192.0.2.9",
			map[string]string{"a": "192.0.2.1! 192.0.2.2!"},
			[]string{"/weight-0 0: 192.0.2.9!", "/server-0 1: 192.0.2.1 192.0.2.2"},
		},
		{
			"an address in two sets", "1*a 1*b",
			map[string]string{"a": "192.0.2.1!", "b": "192.0.2.1@z 192.0.2.2@z"},
			[]string{"z/server-1 1: 192.0.2.2", "z/server-0-1 1: 192.0.2.1"},
		},
		{
			"the largest weights", "9999999999*192.0.2.1 1*192.0.2.2", nil,
			[]string{"/ 1: 192.0.2.2", "/weight-16777216 1048573: 192.0.2.1"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			known := sets{}
			for key, text := range test.sets {
				known[key] = dynamic.EndpointSet{Key: key, Endpoints: endpointsOf(text)}
			}
			got := mixedOf(test.servers).Assignment(known.get)
			if diff := cmp.Diff(test.want, lines(t, got)); diff != "" {
				t.Errorf("localities (-want +got):\n%s", diff)
			}
			if wire(t, got) != wire(t, mixedOf(test.servers).Assignment(known.get)) {
				t.Error("another call gives other bytes")
			}
		})
	}
}

func TestDeletedSetHasNoEndpoints(t *testing.T) {
	known := sets{"a": {Endpoints: endpointsOf("192.0.2.1"), Deleted: true}}
	if got := lines(t, mixedOf("1*a").Assignment(known.get)); got != nil {
		t.Errorf("localities: %q", got)
	}
}

func TestKeys(t *testing.T) {
	if diff := cmp.Diff([]string{"a", "b"}, mixedOf("1*b 2*192.0.2.1 1*a 0*b").Keys()); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

// TestShares compares the share of each endpoint with that in a pool, for random servers.
func TestShares(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		mixed, known := resource.Mixed{Name: "name"}, sets{}
		want, total, place := map[string]float64{}, 0., 0
		for i := range 1 + random.IntN(6) {
			spec := loadbalancer.ServerSpec{SetKey: fmt.Sprint(i), Weight: random.IntN(20)}
			set := dynamic.EndpointSet{}
			var serving []string
			for range random.IntN(8) {
				place++
				one := dynamic.Endpoint{
					Address:     netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(place)}), 80),
					Zone:        string(rune('a' + random.IntN(3))),
					Terminating: random.IntN(4) == 0,
				}
				set.Endpoints = append(set.Endpoints, one)
				if !one.Terminating {
					serving = append(serving, one.Address.Addr().String())
				}
			}
			for _, address := range serving {
				want[address] = float64(spec.Weight) / float64(len(serving))
				total += want[address]
			}
			known[spec.SetKey] = set
			mixed.Servers = append(mixed.Servers, spec)
		}
		if total == 0 {
			continue // Terminating endpoints may serve.
		}
		got, sum := map[string]float64{}, 0.
		for _, group := range mixed.Assignment(known.get).GetEndpoints() {
			healthy := slices.DeleteFunc(slices.Clone(group.GetLbEndpoints()), func(one *endpointv3.LbEndpoint) bool {
				return one.GetHealthStatus() != corev3.HealthStatus_HEALTHY
			})
			sum += float64(group.GetLoadBalancingWeight().GetValue())
			for _, one := range healthy {
				got[one.GetEndpoint().GetAddress().GetSocketAddress().GetAddress()] =
					float64(group.GetLoadBalancingWeight().GetValue()) / float64(len(healthy))
			}
		}
		for address, share := range want {
			if difference := share/total - got[address]/sum; difference > 1e-5 || difference < -1e-5 {
				t.Fatalf("%s gets %f, expected %f", address, got[address]/sum, share/total)
			}
		}
	}
}

// TestLocalitiesStay scales and drains the sets of a service: no endpoint moves to another locality, for which clients
// would connect to it anew.
func TestLocalitiesStay(t *testing.T) {
	localities := map[string]string{}
	for _, step := range []struct{ a, b string }{
		{"192.0.2.1", "192.0.2.11 192.0.2.12"},
		{"192.0.2.1 192.0.2.2", "192.0.2.11 192.0.2.12"},
		{"192.0.2.1! 192.0.2.2 192.0.2.3", "192.0.2.11 192.0.2.12!"},
		{"192.0.2.2 192.0.2.3!", "192.0.2.11"},
		{"192.0.2.2! 192.0.2.3!", "192.0.2.11!"},
	} {
		known := sets{"a": {Endpoints: endpointsOf(step.a)}, "b": {Endpoints: endpointsOf(step.b)}}
		for _, group := range mixedOf("3*a 1*b 2*192.0.2.99").Assignment(known.get).GetEndpoints() {
			for _, one := range group.GetLbEndpoints() {
				address := one.GetEndpoint().GetAddress().GetSocketAddress().GetAddress()
				now := group.GetLocality().GetSubZone()
				if before, ok := localities[address]; ok && before != now {
					t.Errorf("%s moves from %s to %s", address, before, now)
				}
				localities[address] = now
			}
		}
	}
}

// TestReadAssignment reads what is published.
func TestReadAssignment(t *testing.T) {
	whole := endpointsOf("192.0.2.1@a 192.0.2.2@a! 192.0.2.3@b")
	read, err := resource.ReadAssignment(resource.Assignment("name", whole))
	if err != nil {
		t.Fatal(err)
	}
	if set, err := read.Set(); err != nil || fmt.Sprint(set) != fmt.Sprint(whole) {
		t.Errorf("%v, %v, want %v", set, err, whole)
	}
	known := sets{"a": {Endpoints: endpointsOf("192.0.2.1 192.0.2.2 192.0.2.3!")}}
	if read, err = resource.ReadAssignment(mixedOf("1*a 3*192.0.2.9").Assignment(known.get)); err != nil {
		t.Fatal(err)
	}
	if set, err := read.Set(); err == nil {
		t.Errorf("a set of endpoints with weights: %v", set)
	}
	weights := map[string]int{}
	for _, one := range read.Servers("http") {
		weights[one.URL] = *one.Weight
	}
	want := map[string]int{
		"http://192.0.2.1:80": 1, "http://192.0.2.2:80": 1, "http://192.0.2.3:80": 0, "http://192.0.2.9:80": 6,
	}
	if diff := cmp.Diff(want, weights); diff != "" {
		t.Errorf("weights (-want +got):\n%s", diff)
	}
	foreign := resource.Assignment("name", whole)
	foreign.Endpoints[0].Priority = 1
	if _, err := resource.ReadAssignment(foreign); err == nil || !strings.Contains(err.Error(), "priority") {
		t.Errorf("%v, want the field that is not supported", err)
	}
}
