package exposure_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/provider/kubernetes/gateway"
	"github.com/sluiceproxy/sluice/static"
)

// TestDemandsThatNoExposureMeets proves which reasons a Gateway gets for its addresses and parameters.
func TestDemandsThatNoExposureMeets(t *testing.T) {
	hostname, named := gatewayv1.HostnameAddressType, gatewayv1.NamedAddressType
	typed := func(kind gatewayv1.AddressType, value string) *gatewayv1.Gateway {
		one := made("a", 0)
		one.Spec.Addresses = []gatewayv1.GatewaySpecAddress{{Type: &kind, Value: value}}
		return one
	}
	parameters := made("a", 0)
	parameters.Spec.Infrastructure = &gatewayv1.GatewayInfrastructure{
		ParametersRef: &gatewayv1.LocalParametersReference{Kind: "ConfigMap", Name: "x"},
	}
	for _, test := range []struct {
		name string
		one  *gatewayv1.Gateway
		want string
	}{
		{"a host name", typed(hostname, "a.example"), "UnsupportedAddress"},
		{"a name", typed(named, "a"), "UnsupportedAddress"},
		{"any host name", typed(hostname, ""), "UnsupportedAddress"},
		{"no IP address", typed(gatewayv1.IPAddressType, "a"), "AddressNotUsable"},
		{"two addresses", made("a", 0, "192.0.2.1", "192.0.2.2"), "AddressNotUsable"},
		{"an address outside", made("a", 0, "198.51.100.1"), "AddressNotUsable"},
		{"the network", made("a", 0, "192.0.2.0"), "AddressNotUsable"},
		{"any address", typed(gatewayv1.IPAddressType, ""), "AddressNotAssigned"},
		{"an address", made("a", 0, "192.0.2.2"), "192.0.2.2"},
		{"the same twice", made("a", 0, "192.0.2.2", "192.0.2.2"), "192.0.2.2"},
		{"parameters", parameters, "InvalidParameters"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, newAPIServer(t), config(static.ExposeByPool, "192.0.2.0/29"))
			r.expose(test.one, web)
			if got := r.addresses(test.one); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

// TestPoolAssigns proves that the leader alone assigns addresses, the lowest that are free, and that all instances have
// them once they are recorded, as has the next leader.
func TestPoolAssigns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		options := config(static.ExposeByPool, "192.0.2.0/29", "2001:db8::/126")
		leader, follower := newRig(t, server, options), newRig(t, server, options)
		stop := leader.lead()
		first, second, fixed := made("first", 1), made("second", 0), made("fixed", 5, "192.0.2.1")
		taken := showing(made("taken", 9), "192.0.2.3")
		for _, r := range []*rig{leader, follower} {
			for _, one := range []*gatewayv1.Gateway{first, second, fixed, taken} {
				r.expose(one, web)
			}
		}
		pass(time.Second)
		for _, test := range []struct {
			one            *gatewayv1.Gateway
			leads, follows string
		}{
			{fixed, "192.0.2.1", "192.0.2.1"},
			{taken, "192.0.2.3", "192.0.2.3"},
			{second, "192.0.2.2", "AddressNotAssigned"},
			{first, "192.0.2.4", "AddressNotAssigned"},
		} {
			if got := leader.addresses(test.one); got != test.leads {
				t.Errorf("%s: the leader has %s, want %s", test.one.Name, got, test.leads)
			}
			if got := follower.addresses(test.one); got != test.follows {
				t.Errorf("%s: another instance has %s, want %s", test.one.Name, got, test.follows)
			}
		}
		for _, one := range leader.record() {
			follower.expose(one, web)
		}
		if diff := cmp.Diff(leader.all(), follower.all()); diff != "" {
			t.Errorf("the instances differ:\n%s", diff)
		}
		if got := follower.binding(first, web); got != "192.0.2.4:80" {
			t.Errorf("bound to %s", got)
		}
		stop()
		follower.lead()
		pass(time.Second)
		if diff := cmp.Diff(leader.all(), follower.all()); diff != "" {
			t.Errorf("the next leader decides otherwise:\n%s", diff)
		}
		for i := range 5 {
			follower.expose(made(fmt.Sprint("more", i), 20+i), web)
		}
		pass(time.Second)
		for name, want := range map[string]string{
			"more0": "192.0.2.5", "more1": "192.0.2.6", "more2": "2001:db8::1", "more3": "2001:db8::2", "more4": "2001:db8::3",
		} {
			if got := follower.addresses(made(name, 0)); got != want {
				t.Errorf("%s has %s, want %s", name, got, want)
			}
		}
		late := made("late", 50)
		follower.expose(late, web)
		pass(time.Second)
		answer := follower.all()["shop/late"]
		if answer.Refusal == nil || answer.Refusal.Message != "All addresses of the pool are in use." {
			t.Errorf("%+v", answer)
		}
		follower.withdraw(first)
		pass(time.Second)
		if got := follower.addresses(late); got != "192.0.2.4" {
			t.Errorf("after an address is free, the last one has %s", got)
		}
	})
}

// TestPoolConflicts proves who has an address that two Gateways claim.
func TestPoolConflicts(t *testing.T) {
	for _, test := range []struct {
		name        string
		older, newr *gatewayv1.Gateway
		want        [2]string
	}{
		{
			"both show it", showing(made("a", 1), "192.0.2.1"), showing(made("b", 2), "192.0.2.1"),
			[2]string{"192.0.2.1", "AddressNotAssigned"},
		},
		{"both demand it", made("a", 1, "192.0.2.1"), made("b", 2, "192.0.2.1"), [2]string{"192.0.2.1", "AddressNotUsable"}},
		{
			"who has it keeps it", made("a", 1, "192.0.2.1"), showing(made("b", 2), "192.0.2.1"),
			[2]string{"AddressNotUsable", "192.0.2.1"},
		},
		{
			"another is demanded", showing(made("a", 1, "192.0.2.2"), "192.0.2.1"), made("b", 2, "192.0.2.1"),
			[2]string{"192.0.2.2", "192.0.2.1"},
		},
		{
			"an address that is not of the pool", showing(made("a", 1), "198.51.100.1"), showing(made("b", 2), "192.0.2.1"),
			[2]string{"AddressNotAssigned", "192.0.2.1"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			for range 2 {
				r := newRig(t, newAPIServer(t), config(static.ExposeByPool, "192.0.2.0/29"))
				r.expose(test.older, web)
				r.expose(test.newr, web)
				if got := [2]string{r.addresses(test.older), r.addresses(test.newr)}; got != test.want {
					t.Errorf("%v, want %v", got, test.want)
				}
			}
		})
	}
}

// TestMergedPool proves that merged Gateways share one address.
func TestMergedPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options := config(static.ExposeByPool, "192.0.2.0/29")
		options.MergeGateways = true
		r := newRig(t, newAPIServer(t), options)
		r.lead()
		first, second, other := made("first", 0), made("second", 1), made("other", 2, "192.0.2.5")
		r.expose(first, web)
		r.expose(second, web, https)
		pass(time.Second)
		r.record()
		r.expose(other, web)
		for one, want := range map[*gatewayv1.Gateway]string{
			first: "192.0.2.1", second: "192.0.2.1", other: "AddressNotUsable",
		} {
			if got := r.addresses(one); got != want {
				t.Errorf("%s has %s, want %s", one.Name, got, want)
			}
		}
		if got := r.binding(second, https); got != "192.0.2.1:443" {
			t.Errorf("bound to %s", got)
		}
	})
}

// TestAnswersDoNotDependOnTheOrder exposes and withdraws Gateways in random orders with each exposure.
func TestAnswersDoNotDependOnTheOrder(t *testing.T) { synctest.Test(t, testOrders) }

func testOrders(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "sluice-system", Name: "p"},
		Status: corev1.PodStatus{
			HostIPs:    []corev1.HostIP{{IP: "203.0.113.2"}, {IP: "203.0.113.1"}},
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
	}
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 2))
		options := config([]static.GatewayExposure{
			static.ExposeByPool, static.ExposeOnNode, static.ExposeByService,
		}[random.IntN(3)])
		if options.Exposure == static.ExposeByPool {
			options.AddressPool = []string{"192.0.2.0/29"}
		}
		options.MergeGateways = random.IntN(3) == 0
		server := newAPIServer(t)
		server.pods.put(pod)
		type event struct {
			one   *gatewayv1.Gateway
			ports []gateway.Port
		}
		var events []event
		for i := range 8 {
			one := made(fmt.Sprint("g", i), random.IntN(3))
			if random.IntN(2) == 0 {
				one = showing(one, fmt.Sprint("192.0.2.", random.IntN(8)))
			}
			if random.IntN(3) == 0 {
				one.Spec.Addresses = []gatewayv1.GatewaySpecAddress{{Value: fmt.Sprint("192.0.2.", random.IntN(8))}}
			}
			ports := []gateway.Port{web, https, quic}
			random.Shuffle(len(ports), func(i, j int) { ports[i], ports[j] = ports[j], ports[i] })
			events = append(events, event{one, ports[:1+random.IntN(3)]})
		}
		var first map[string]gateway.Exposed
		for range 4 {
			random.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
			r := newRig(t, server, options)
			for _, one := range events {
				r.expose(one.one, one.ports...)
				if random.IntN(4) == 0 {
					gone := made("gone", 0, "192.0.2.3")
					r.expose(gone, web, https)
					r.withdraw(gone)
				}
			}
			if first == nil {
				first = r.all()
			} else if diff := cmp.Diff(first, r.all()); diff != "" {
				t.Fatalf("seed %d, exposure %s: another order gives\n%s", seed, options.Exposure, diff)
			}
		}
	}
}

// TestNode proves that a port of the node is that of the oldest of new Gateways, and goes to the next one.
func TestNode(t *testing.T) { synctest.Test(t, testNode) }

func testNode(t *testing.T) {
	server := newAPIServer(t)
	for i, ready := range []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionTrue} {
		server.pods.put(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "sluice-system", Name: fmt.Sprint("p", i)},
			Status: corev1.PodStatus{
				HostIP: fmt.Sprint("203.0.113.", 9-i), Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}},
			},
		})
	}
	r := newRig(t, server, config(static.ExposeOnNode))
	first, second, third := made("z", 0), made("a", 1), made("b", 2, "203.0.113.7")
	r.expose(third, quic)
	r.expose(second, web, https)
	r.expose(first, web)
	for _, test := range []struct {
		one       *gatewayv1.Gateway
		port      gateway.Port
		binding   string
		addresses string
	}{
		{first, web, ":80", "203.0.113.7 203.0.113.9"},
		{second, web, "PortUnavailable", "203.0.113.7 203.0.113.9"},
		{second, https, ":443", "203.0.113.7 203.0.113.9"},
		{third, quic, ":443", "203.0.113.7"},
	} {
		if got := r.binding(test.one, test.port); got != test.binding {
			t.Errorf("%s %v: %s, want %s", test.one.Name, test.port, got, test.binding)
		}
		if got := r.addresses(test.one); got != test.addresses {
			t.Errorf("%s: %s, want %s", test.one.Name, got, test.addresses)
		}
	}
	r.expose(second, web)
	if got := r.addresses(second); got != "AddressNotUsable" {
		t.Errorf("without any port of its own, a Gateway has %s", got)
	}
	r.withdraw(first)
	if got := r.binding(second, web); got != ":80" {
		t.Errorf("when the first one is gone, the second is bound to %s", got)
	}
}

// TestStatusAddress proves that the addresses of the options are shown in place of others.
func TestStatusAddress(t *testing.T) {
	options := config(static.ExposeOnNode)
	options.StatusAddress = &static.StatusAddress{IP: "203.0.113.1", Hostname: "edge.example"}
	r := newRig(t, newAPIServer(t), options)
	one, other := made("a", 0), made("b", 1, "203.0.113.5")
	r.expose(one, web)
	r.expose(other, https)
	if got := r.addresses(one); got != "203.0.113.1 edge.example" {
		t.Errorf("%s", got)
	}
	if got := r.addresses(other); got != "AddressNotUsable" {
		t.Errorf("%s", got)
	}
}
