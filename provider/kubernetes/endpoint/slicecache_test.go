package endpoint

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
)

func to[T any](value T) *T { return &value }

func web(ports ...corev1.ServicePort) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec:       corev1.ServiceSpec{Ports: ports},
	}
}

func port(name string, number int32) corev1.ServicePort {
	return corev1.ServicePort{Name: name, Port: number, Protocol: corev1.ProtocolTCP}
}

// sliceOf makes a slice of shop/web.
func sliceOf(name string, ports map[string]int32, endpoints ...discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: "web"},
		},
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: endpoints,
	}
	for name, number := range ports {
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{
			Name: &name, Port: &number,
			Protocol: to(corev1.ProtocolTCP),
		})
	}
	return slice
}

func at(address string, changes ...func(*discoveryv1.Endpoint)) discoveryv1.Endpoint {
	one := discoveryv1.Endpoint{Addresses: []string{address}}
	for _, change := range changes {
		change(&one)
	}
	return one
}

// conditions are ready, serving and terminating: y, n, or - for unknown.
func conditions(text string) func(*discoveryv1.Endpoint) {
	parse := func(c byte) *bool {
		if c == '-' {
			return nil
		}
		return to(c == 'y')
	}
	return func(one *discoveryv1.Endpoint) {
		one.Conditions = discoveryv1.EndpointConditions{
			Ready: parse(text[0]), Serving: parse(text[1]),
			Terminating: parse(text[2]),
		}
	}
}

func pod(uid string) func(*discoveryv1.Endpoint) {
	return func(one *discoveryv1.Endpoint) {
		one.TargetRef = &corev1.ObjectReference{Kind: "Pod", UID: types.UID(uid)}
	}
}

// show writes sets as lines: KEY: ADDRESS[ uid][ @zone][ >hints][ terminating], ...
func show(sets []dynamic.EndpointSet) []string {
	lines := []string{}
	for _, set := range sets {
		var parts []string
		for _, one := range set.Endpoints {
			text := one.Address.String()
			if one.UID != "" {
				text += " " + one.UID
			}
			if one.Zone != "" {
				text += " @" + one.Zone
			}
			if one.ZoneHints != nil {
				text += " >" + strings.Join(one.ZoneHints, "+")
			}
			if one.Terminating {
				text += " terminating"
			}
			parts = append(parts, text)
		}
		if set.Deleted {
			parts = append(parts, "deleted")
		}
		lines = append(lines, strings.TrimSpace(set.Key+": "+strings.Join(parts, ", ")))
	}
	return lines
}

type counts map[string]int

func (c counts) CountProvider(what, provider, kind string, n int) { c[what+" "+provider+" "+kind] += n }

func blank() *sliceCache { return newSliceCache("k", counts{}, func() {}) }

func TestSlicesBecomeSets(t *testing.T) {
	for _, test := range slices.Concat(portTests(), endpointTests()) {
		t.Run(test.name, func(t *testing.T) {
			cache := blank()
			for _, slice := range test.slices {
				cache.slice(nil, slice)
			}
			if test.service != nil {
				cache.service(nil, test.service)
			}
			if diff := cmp.Diff(test.want, show(cache.collect())); diff != "" {
				t.Errorf("sets (-want +got):\n%s", diff)
			}
		})
	}
}

// setTest is a Service and its slices, and what is sent of them.
type setTest struct {
	name    string
	service *corev1.Service
	slices  []*discoveryv1.EndpointSlice
	want    []string
}

// portTests are about which port is meant, and which Services have any.
func portTests() []setTest {
	http := map[string]int32{"http": 8080}
	return []setTest{
		{
			"ports go by name, and the slice has the number", web(port("http", 80), port("metrics", 9090)),
			[]*discoveryv1.EndpointSlice{sliceOf("a", map[string]int32{"http": 8080, "metrics": 9100}, at("192.0.2.1"))},
			[]string{"k/shop/web:80: 192.0.2.1:8080", "k/shop/web:9090: 192.0.2.1:9100"},
		},
		{
			"pods may name different numbers", web(port("http", 80)),
			[]*discoveryv1.EndpointSlice{
				sliceOf("a", http, at("192.0.2.1")), sliceOf("b", map[string]int32{"http": 9090}, at("192.0.2.2")),
			},
			[]string{"k/shop/web:80: 192.0.2.1:8080, 192.0.2.2:9090"},
		},
		{
			"a port without a name", web(port("", 80)),
			[]*discoveryv1.EndpointSlice{
				{
					ObjectMeta: sliceOf("a", nil).ObjectMeta, AddressType: discoveryv1.AddressTypeIPv4,
					Ports: []discoveryv1.EndpointPort{{Port: to(int32(8080))}}, Endpoints: []discoveryv1.Endpoint{at("192.0.2.1")},
				},
				sliceOf("b", map[string]int32{"": 8080}, at("192.0.2.2")),
			},
			[]string{"k/shop/web:80: 192.0.2.1:8080, 192.0.2.2:8080"},
		},
		{
			"ports of one number are told apart by their protocols", web(
				corev1.ServicePort{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP}, port("dns-tcp", 53),
				corev1.ServicePort{Name: "dns-sctp", Port: 53, Protocol: corev1.ProtocolSCTP},
				corev1.ServicePort{Name: "dns-tcp", Port: 54, Protocol: corev1.ProtocolUDP},
			),
			[]*discoveryv1.EndpointSlice{{
				ObjectMeta: sliceOf("a", nil).ObjectMeta,
				Ports: []discoveryv1.EndpointPort{
					{Name: to("dns-tcp"), Port: to(int32(5354)), Protocol: to(corev1.ProtocolUDP)},
					{Name: to("dns-tcp"), Port: to(int32(5353)), Protocol: to(corev1.ProtocolTCP)},
					{Name: to("dns-sctp"), Port: to(int32(5355)), Protocol: to(corev1.ProtocolSCTP)},
					{Name: to("dns"), Port: to(int32(5356)), Protocol: to(corev1.ProtocolUDP)},
				},
				Endpoints: []discoveryv1.Endpoint{at("192.0.2.1")},
			}},
			[]string{
				"k/shop/web:53: 192.0.2.1:5353", "k/shop/web:53/udp: 192.0.2.1:5356", "k/shop/web:54/udp: 192.0.2.1:5354",
			},
		},
	}
}

// endpointTests are about which keys are sent, and what is sent.
func endpointTests() []setTest {
	http := map[string]int32{"http": 8080}
	return []setTest{
		{
			"both families, several slices, sorted, without duplicates", web(port("http", 80)),
			[]*discoveryv1.EndpointSlice{
				sliceOf("b", http, at("2001:db8::1", pod("p"))),
				sliceOf("a", http, at("192.0.2.9"), at("192.0.2.1", pod("p"))), sliceOf("c", http, at("192.0.2.9")),
			},
			[]string{"k/shop/web:80: 192.0.2.1:8080 p, 192.0.2.9:8080, [2001:db8::1]:8080 p"},
		},
		{
			"conditions", web(port("http", 80)),
			[]*discoveryv1.EndpointSlice{sliceOf("a", http,
				at("192.0.2.1", conditions("---")), at("192.0.2.2", conditions("y--")), at("192.0.2.3", conditions("n--")),
				at("192.0.2.4", conditions("yyn")), at("192.0.2.5", conditions("nyy")), at("192.0.2.6", conditions("nny")),
				at("192.0.2.7", conditions("nnn")), at("192.0.2.8", conditions("ynn")), at("192.0.2.9", conditions("yny")),
				at("192.0.2.10", conditions("-n-")), at("192.0.2.11", conditions("-y-")),
			)},
			[]string{"k/shop/web:80: 192.0.2.1:8080, 192.0.2.2:8080, 192.0.2.4:8080, 192.0.2.5:8080 terminating, " +
				"192.0.2.8:8080, " +
				"192.0.2.9:8080 terminating, 192.0.2.11:8080"},
		},
		{
			"a pod and its successor at one address", web(port("http", 80)),
			[]*discoveryv1.EndpointSlice{sliceOf("a", http, at("192.0.2.1", pod("old"), conditions("nyy")),
				at("192.0.2.1", pod("new")))},
			[]string{"k/shop/web:80: 192.0.2.1:8080 new"},
		},
		{
			"zones, hints, and targets that are no pods", web(port("http", 80)),
			[]*discoveryv1.EndpointSlice{sliceOf("a", http, at("192.0.2.1", func(one *discoveryv1.Endpoint) {
				one.Zone = to("z1")
				one.Hints = &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: "z1"}, {Name: "z2"}}}
				one.TargetRef = &corev1.ObjectReference{Kind: "VirtualMachine", UID: "vm"}
			}))},
			[]string{"k/shop/web:80: 192.0.2.1:8080 @z1 >z1+z2"},
		},
		{
			"slices of names, and ports without a number", web(port("http", 80)),
			[]*discoveryv1.EndpointSlice{
				{
					ObjectMeta: sliceOf("a", nil).ObjectMeta, Ports: []discoveryv1.EndpointPort{{Name: to("http")}},
					Endpoints: []discoveryv1.Endpoint{at("192.0.2.1")},
				},
				{
					ObjectMeta: sliceOf("b", nil).ObjectMeta, AddressType: discoveryv1.AddressTypeFQDN,
					Ports: sliceOf("b", http).Ports, Endpoints: []discoveryv1.Endpoint{at("example.com")},
				},
			},
			[]string{"k/shop/web:80:"},
		},
		{"nobody", web(port("http", 80)), []*discoveryv1.EndpointSlice{sliceOf("a", http)}, []string{"k/shop/web:80:"}},
		{"no slices at all", web(port("http", 80)), nil, []string{"k/shop/web:80:"}},
		{
			"ExternalName", &corev1.Service{
				ObjectMeta: web().ObjectMeta,
				Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, Ports: []corev1.ServicePort{port("http", 80)}},
			},
			nil,
			[]string{},
		},
		{"slices without a Service", nil, []*discoveryv1.EndpointSlice{sliceOf("a", http, at("192.0.2.1"))}, []string{}},
	}
}

// TestZonesAloneAreChanges changes nothing but the zone or the hints of an endpoint, one after the other.
func TestZonesAloneAreChanges(t *testing.T) {
	hinted := func(zone string, hints ...string) *discoveryv1.EndpointSlice {
		return sliceOf("a", map[string]int32{"http": 8080}, at("192.0.2.1", func(one *discoveryv1.Endpoint) {
			if zone != "" {
				one.Zone = &zone
			}
			for _, hint := range hints {
				if one.Hints == nil {
					one.Hints = &discoveryv1.EndpointHints{}
				}
				one.Hints.ForZones = append(one.Hints.ForZones, discoveryv1.ForZone{Name: hint})
			}
		}))
	}
	cache := blank()
	cache.service(nil, web(port("http", 80)))
	var before *discoveryv1.EndpointSlice
	for _, step := range []struct {
		slice *discoveryv1.EndpointSlice
		want  []string
	}{
		{hinted(""), []string{"k/shop/web:80: 192.0.2.1:8080"}},
		{hinted("a"), []string{"k/shop/web:80: 192.0.2.1:8080 @a"}},
		{hinted("a", "a"), []string{"k/shop/web:80: 192.0.2.1:8080 @a >a"}},
		{hinted("a", "a"), []string{}},
		{hinted("a", "a", "b"), []string{"k/shop/web:80: 192.0.2.1:8080 @a >a+b"}},
		{hinted("a", "b"), []string{"k/shop/web:80: 192.0.2.1:8080 @a >b"}},
		{hinted("b", "b"), []string{"k/shop/web:80: 192.0.2.1:8080 @b >b"}},
		{hinted("b"), []string{"k/shop/web:80: 192.0.2.1:8080 @b"}},
	} {
		cache.slice(before, step.slice)
		before = step.slice
		if diff := cmp.Diff(step.want, show(cache.collect())); diff != "" {
			t.Errorf("sets (-want +got):\n%s", diff)
		}
	}
}

func TestChangesBecomeSets(t *testing.T) {
	http := map[string]int32{"http": 8080}
	one, two := sliceOf("a", http, at("192.0.2.1")), sliceOf("a", http, at("192.0.2.1"), at("192.0.2.2"))
	annotated := two.DeepCopy()
	annotated.Annotations = map[string]string{"endpoints.kubernetes.io/last-change-trigger-time": "x"}
	annotated.ResourceVersion = "2"
	moved := two.DeepCopy()
	moved.Labels[discoveryv1.LabelServiceName] = "api"
	before, after := web(port("http", 80), port("other", 81)), web(port("http", 80))
	external := web()
	external.Spec.Type = corev1.ServiceTypeExternalName

	cache := blank()
	steps := []struct {
		name   string
		change func()
		want   []string
	}{
		{"the start", func() {
			cache.service(nil, before)
			cache.slice(nil, one)
		}, []string{"k/shop/web:80: 192.0.2.1:8080", "k/shop/web:81:"}},
		{"nothing", func() {}, []string{}},
		{"an endpoint more", func() { cache.slice(one, two) }, []string{"k/shop/web:80: 192.0.2.1:8080, 192.0.2.2:8080"}},
		{"an annotation", func() { cache.slice(two, annotated) }, []string{}},
		{"two changes that cancel each other", func() { cache.slice(two, one); cache.slice(one, two) }, []string{}},
		{"a port less", func() { cache.service(before, after) }, []string{"k/shop/web:81: deleted"}},
		{"a slice of another Service", func() { cache.slice(two, moved) }, []string{"k/shop/web:80:"}},
		{"a slice that comes back", func() {
			cache.slice(moved, two)
		}, []string{"k/shop/web:80: 192.0.2.1:8080, 192.0.2.2:8080"}},
		{"a name of something elsewhere", func() { cache.service(after, external) }, []string{"k/shop/web:80: deleted"}},
		{"a Service of pods again", func() {
			cache.service(external, after)
		}, []string{"k/shop/web:80: 192.0.2.1:8080, 192.0.2.2:8080"}},
		{"no slices", func() { cache.slice(two, nil) }, []string{"k/shop/web:80:"}},
		{"no Service", func() { cache.service(after, nil) }, []string{"k/shop/web:80: deleted"}},
	}
	for _, step := range steps {
		step.change()
		sets := cache.collect()
		if diff := cmp.Diff(step.want, show(sets)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
	if len(cache.entries) != 0 || len(cache.dirty) != 0 || len(cache.bare) != 0 {
		t.Errorf("what is gone is still kept: %v %v %v", cache.entries, cache.dirty, cache.bare)
	}
	want := counts{
		"events " + Name + " Service": 5, "builds " + Name + " Service": 4, "pushes " + Name + " Service": 4,
		"events " + Name + " EndpointSlice": 8, "builds " + Name + " EndpointSlice": 9,
		"pushes " + Name + " EndpointSlice": 5, "drops " + Name + " EndpointSlice": 4,
	}
	if diff := cmp.Diff(want, cache.counters); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

func TestLegacyEndpointsServeWhereThereAreNoSlices(t *testing.T) {
	legacy := &client.Endpoints{
		ObjectMeta: web().ObjectMeta,
		Subsets: []corev1.EndpointSubset{ //nolint:staticcheck // What legacy Endpoints consist of.
			{
				Addresses: []corev1.EndpointAddress{
					{IP: "192.0.2.2"},
					{IP: "192.0.2.1", TargetRef: &corev1.ObjectReference{Kind: "Pod", UID: "p"}},
				},
				Ports: []corev1.EndpointPort{{Name: "http", Port: 8080}, {Name: "http", Port: 1, Protocol: corev1.ProtocolUDP}},
			},
			{Addresses: []corev1.EndpointAddress{{IP: "192.0.2.3"}}, Ports: []corev1.EndpointPort{{Name: "other", Port: 8080}}},
		},
	}
	cache := blank()
	cache.service(nil, web(port("http", 80)))
	if !cache.bareServices() {
		t.Error("a Service without slices does not ask for legacy Endpoints")
	}
	cache.endpoints(nil, legacy)
	if diff := cmp.Diff([]string{"k/shop/web:80: 192.0.2.1:8080 p, 192.0.2.2:8080"}, show(cache.collect())); diff != "" {
		t.Errorf("sets (-want +got):\n%s", diff)
	}
	slice := sliceOf("a", map[string]int32{"http": 80})
	cache.slice(nil, slice)
	if diff := cmp.Diff([]string{"k/shop/web:80:"}, show(cache.collect())); diff != "" || cache.bareServices() {
		t.Errorf("with an empty slice (-want +got):\n%s", diff)
	}
	cache.slice(slice, nil)
	cache.endpoints(legacy, nil)
	if diff := cmp.Diff([]string{}, show(cache.collect())); diff != "" {
		t.Errorf("without both (-want +got):\n%s", diff)
	}
}
