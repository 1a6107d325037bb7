package kubernetes

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/cluster"
)

// slice is the manifest of an EndpointSlice of the namespace shop, with port 8080 and endpoints as in a manifest.
func slice(service, name, family string, endpoints ...string) string {
	return strings.NewReplacer("SERVICE", service, "SLICE", name, "FAMILY", family, "ENDPOINTS",
		strings.Join(endpoints, ", ")).Replace(`
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: SERVICE-SLICE, namespace: shop, labels: {kubernetes.io/service-name: SERVICE}}
addressType: FAMILY
ports: [{name: '', port: 8080, protocol: TCP}]
endpoints: [ENDPOINTS]
`)
}

// endpoint is one of a slice, with conditions as in a manifest and the uid of its pod.
func endpoint(address, conditions, uid string) string {
	text := "{addresses: ['" + address + "'], conditions: {" + conditions + "}"
	if uid != "" {
		text += ", targetRef: {kind: Pod, name: pod, namespace: shop, uid: " + uid + "}"
	}
	return text + "}"
}

// TestEndpoints writes unusual EndpointSlices, and checks which endpoints answer.
func TestEndpoints(t *testing.T) {
	c := prepare(t, "traefik.io")
	c.Apply(namespace("shop"))
	s := open(t, c, static)
	for i := range 6 {
		listen(t, fmt.Sprintf("198.18.0.%d:8080", i+1), fmt.Sprint(i+1), nil)
	}
	listen(t, "[2001:db8::7]:8080", "7", nil)
	tests := []struct {
		name   string
		slices []string // of the Service whose name takes the place of NAME
		want   map[string]int
	}{
		{"of several slices", []string{
			slice("NAME", "a", "IPv4", endpoint("198.18.0.1", "ready: true", "")),
			slice("NAME", "b", "IPv4", endpoint("198.18.0.2", "ready: true", ""), endpoint("198.18.0.3", "", "")),
		}, map[string]int{"200 1": 2, "200 2": 2, "200 3": 2}},
		{"of both families", []string{
			slice("NAME", "a", "IPv4", endpoint("198.18.0.1", "", "")), slice("NAME", "b", "IPv6", endpoint("2001:db8::7", "",
				"")),
		}, map[string]int{"200 1": 2, "200 7": 2}},
		{"in two slices at once", []string{
			slice("NAME", "a", "IPv4", endpoint("198.18.0.1", "", ""), endpoint("198.18.0.2", "", "")),
			slice("NAME", "b", "IPv4", endpoint("198.18.0.1", "", "")),
		}, map[string]int{"200 1": 2, "200 2": 2}},
		{"that are not ready", []string{
			slice("NAME", "a", "IPv4", endpoint("198.18.0.1", "ready: false", ""), endpoint("198.18.0.2", "ready: true", "")),
		}, map[string]int{"200 2": 4}},
		{"that are leaving while others serve", []string{slice("NAME", "a", "IPv4",
			endpoint("198.18.0.1", "ready: false, serving: true, terminating: true", ""),
			endpoint("198.18.0.2", "ready: true, serving: true, terminating: false", ""),
			endpoint("198.18.0.3", "ready: false, serving: false, terminating: true", ""),
			endpoint("198.18.0.4", "ready: false, serving: false, terminating: false", ""),
		)}, map[string]int{"200 2": 4}},
		{"that are all leaving", []string{slice("NAME", "a", "IPv4",
			endpoint("198.18.0.1", "ready: false, serving: true, terminating: true", ""),
			endpoint("198.18.0.3", "ready: false, serving: false, terminating: true", ""),
		)}, map[string]int{"200 1": 4}},
		{
			"of which none is ready",
			[]string{slice("NAME", "a", "IPv4", endpoint("198.18.0.1", "ready: false", ""))},
			map[string]int{"503": 2},
		},
		{"of empty slices", []string{slice("NAME", "a", "IPv4")}, map[string]int{"503": 2}},
		{"of no slice", nil, map[string]int{"503": 2}},
		{"in zones", []string{strings.ReplaceAll(
			slice("NAME", "a", "IPv4", endpoint("198.18.0.1", "", ""), endpoint("198.18.0.2", "", "")), "conditions: {}",
			"zone: west, hints: {forZones: [{name: west}]}",
		)}, map[string]int{"200 1": 2, "200 2": 2}},
		{"of another port", []string{strings.Replace(slice("NAME", "a", "IPv4", endpoint("198.18.0.1", "", "")), "name: ''",
			"name: other", 1)}, map[string]int{"503": 2}},
		{"of another protocol", []string{strings.Replace(slice("NAME", "a", "IPv4", endpoint("198.18.0.1", "", "")),
			"protocol: TCP", "protocol: UDP", 1)}, map[string]int{"503": 2}},
	}
	for i, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, s, name := c.For(t), s.on(t), fmt.Sprintf("e%d", i)
			c.Apply(strings.ReplaceAll(strings.Join(test.slices, ""), "NAME", name), plain(name, "{ports: [{port: 80}]}"),
				route("traefik.io", "shop/"+name, name+".test", "[{name: "+name+", port: 80}]"))
			s.shares(name+".test/", test.want)
		})
	}
	t.Run("that only legacy Endpoints name", func(t *testing.T) { nameLegacy(c.For(t), s.on(t)) })
	t.Run("that come and go", func(t *testing.T) { comeAndGo(c.For(t), s.on(t)) })
}

// nameLegacy writes Endpoints, which are read until there is a slice.
func nameLegacy(c *cluster.Cluster, s *gate) {
	legacy := func(address string) string {
		return "---\napiVersion: v1\nkind: Endpoints\nmetadata: {name: legacy, namespace: shop, labels: " +
			"{endpointslice.kubernetes.io/skip-mirror: 'true'}}\n" +
			"subsets: [{addresses: [{ip: " + address + "}], notReadyAddresses: [{ip: 198.18.0.5}], ports: [{port: 8080}]}]\n"
	}
	c.Apply(plain("legacy", "{ports: [{port: 80}]}"), route("traefik.io", "shop/legacy", "legacy.test",
		"[{name: legacy, port: 80}]"), legacy("198.18.0.1"))
	s.shares("legacy.test/", map[string]int{"200 1": 2})
	c.Apply(legacy("198.18.0.2"))
	s.shares("legacy.test/", map[string]int{"200 2": 2})
	c.Apply(slice("legacy", "a", "IPv4", endpoint("198.18.0.3", "", "")))
	s.shares("legacy.test/", map[string]int{"200 3": 2})
	c.DeleteNow("EndpointSlice.discovery.k8s.io", "shop/legacy-a")
	s.shares("legacy.test/", map[string]int{"200 2": 2})
	c.DeleteNow("Endpoints", "shop/legacy")
	s.shares("legacy.test/", map[string]int{"503": 2})
}

// comeAndGo changes one slice of two, and never the route.
func comeAndGo(c *cluster.Cluster, s *gate) {
	c.Apply(plain("changing", "{ports: [{port: 80}]}"), route("traefik.io", "shop/changing", "changing.test",
		"[{name: changing, port: 80}]"),
		slice("changing", "a", "IPv4", endpoint("198.18.0.1", "", "")))
	s.shares("changing.test/", map[string]int{"200 1": 2})
	generation := s.Readiness().Generation
	c.Apply(slice("changing", "b", "IPv4", endpoint("198.18.0.2", "", "")))
	s.shares("changing.test/", map[string]int{"200 1": 2, "200 2": 2})
	c.DeleteNow("EndpointSlice.discovery.k8s.io", "shop/changing-a")
	s.shares("changing.test/", map[string]int{"200 2": 2})
	c.Apply(slice("changing", "b", "IPv4"))
	s.shares("changing.test/", map[string]int{"503": 2})
	c.Apply(slice("changing", "b", "IPv4", endpoint("198.18.0.4", "", "")))
	s.shares("changing.test/", map[string]int{"200 4": 2})
	if got := s.Readiness().Generation; got != generation {
		s.t.Errorf("endpoints that come and go led to table %d after %d", got, generation)
	}
}
