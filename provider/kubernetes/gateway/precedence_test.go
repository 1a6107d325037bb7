package gateway

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/static"
)

// translated returns the configuration of manifests beside a Gateway with a listener.
func translated(t *testing.T, gateway, listener, manifests string) (*dynamic.Configuration, *Provider) {
	t.Helper()
	c := newCluster()
	c.apply(t, common(t))
	c.apply(t, fmt.Appendf(nil, `{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway,
		metadata: {name: %q, namespace: shop}, spec: {gatewayClassName: sluice, listeners: [%s]}}`, gateway, listener))
	c.apply(t, []byte(manifests))
	p := c.provider(static.KubernetesGateway{})
	return served(p), p
}

// TestHostnameOfTheRouteDecides proves that a route with an exact hostname comes before one with a wildcard also where
// both have the same intersection with the listener, and the other one is older and has a longer path.
func TestHostnameOfTheRouteDecides(t *testing.T) {
	for kind, rules := range map[string][2]string{
		"HTTPRoute": {
			`{backendRefs: [{name: web, port: 80}]}`,
			`{matches: [{path: {value: /long/path}}], backendRefs: [{name: web, port: 81}]}`,
		},
		"GRPCRoute": {
			`{backendRefs: [{name: web, port: 80}]}`,
			`{matches: [{method: {service: a.B, method: C}}], backendRefs: [{name: web, port: 81}]}`,
		},
		"TLSRoute": {`{backendRefs: [{name: web, port: 80}]}`, `{backendRefs: [{name: web, port: 81}]}`},
	} {
		listener := `{name: one, port: 80, protocol: HTTP, hostname: abc.example.com}`
		if kind == "TLSRoute" {
			listener = `{name: one, port: 80, protocol: TLS, hostname: abc.example.com, tls: {mode: Passthrough}}`
		}
		route := func(name, created, hostname, rule string) string {
			return fmt.Sprintf(`{apiVersion: gateway.networking.k8s.io/v1, kind: %s,
				metadata: {name: %s, namespace: shop, creationTimestamp: %q},
				spec: {parentRefs: [{name: main}], hostnames: [%q], rules: [%s]}}`, kind, name, created, hostname, rule)
		}
		configuration, _ := translated(t, "main", listener, route("wild", "2026-01-01T00:00:00Z", "*.example.com", rules[1])+
			"\n---\n"+route("exact", "2026-01-02T00:00:00Z", "abc.example.com", rules[0]))
		precedence := map[bool][]int64{}
		for name, router := range configuration.HTTP.Routers.All() {
			precedence[strings.Contains(name, "exact")] = router.Precedence
		}
		for name, router := range configuration.TCP.Routers.All() {
			precedence[strings.Contains(name, "exact")] = []int64{int64(router.Priority)}
		}
		if len(precedence) != 2 || slices.Compare(precedence[true], precedence[false]) <= 0 {
			t.Errorf("%s: exact %v, wildcard %v", kind, precedence[true], precedence[false])
		}
	}
}

// TestOrderOfRules proves that of rules that tie in everything the first one comes first, and that one with an invalid
// backend answers 500 in its place.
func TestOrderOfRules(t *testing.T) {
	var rules []string
	for i := range 12 {
		name := "web"
		if i == 0 {
			name = "none"
		}
		rules = append(rules, fmt.Sprintf("{matches: [{path: {value: /a}}], backendRefs: [{name: %s, port: 80}]}", name))
	}
	configuration, _ := translated(t, "main", "{name: one, port: 80, protocol: HTTP}", `{
		apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: shop},
		spec: {parentRefs: [{name: main}], rules: [`+strings.Join(rules, ", ")+`]}}`)
	var names []string
	var first *dynamic.Router
	for name, router := range configuration.HTTP.Routers.All() {
		if first != nil && !slices.Equal(router.Precedence, first.Precedence) {
			t.Errorf("%s: precedence %v, another one has %v", name, router.Precedence, first.Precedence)
		}
		if names = append(names, name); slices.Min(names) == name {
			first = router
		}
	}
	if len(names) != len(rules) {
		t.Fatalf("%d routers", len(names))
	}
	service, _ := configuration.HTTP.Services.Find(first.Service)
	if service == nil || service.DirectResponse == nil || service.DirectResponse.Status != 500 {
		t.Errorf("the first of %q leads to %q", names, first.Service)
	}
	slices.Sort(names)
	for i, name := range names {
		if !strings.Contains(name, fmt.Sprintf(",%03d.", i)) {
			t.Errorf("router %d is %s", i, name)
		}
	}
}

// TestLongestNameOfAGateway proves that a Gateway with a name of 253 characters serves.
func TestLongestNameOfAGateway(t *testing.T) {
	name := strings.Repeat("gateway-", 31) + "final"
	if len(name) != 253 {
		t.Fatalf("%d characters", len(name))
	}
	configuration, p := translated(t, name, "{name: one, port: 80, protocol: HTTP}", `{
		apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: shop},
		spec: {parentRefs: [{name: `+name+`}], rules: [{backendRefs: [{name: web, port: 80}]}]}}`)
	listener := "shop_" + name + "_one"
	if _, found := configuration.Listeners.Listeners.Find(listener); !found {
		t.Error("the listener is not declared")
	}
	for _, router := range configuration.HTTP.Routers.All() {
		if !slices.Equal(router.EntryPoints, []string{listener + "@" + Name}) {
			t.Errorf("entrypoints %q", router.EntryPoints)
		}
	}
	if got := programmed(p); !slices.Equal(got, []string{"True:Programmed@0", "True:Programmed@0"}) {
		t.Errorf("programmed %q", got)
	}
}

// TestListenersAreAsOldAsTheirOwners proves that listeners of Gateways that share an address do not take hostnames of
// older ones by their names.
func TestListenersAreAsOldAsTheirOwners(t *testing.T) {
	c := newCluster()
	c.apply(t, common(t))
	c.apply(t, []byte(`{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway,
	metadata: {name: main, namespace: shop, creationTimestamp: "2026-01-02T03:04:05Z"},
	spec: {gatewayClassName: sluice, allowedListeners: {namespaces: {from: All}},
		listeners: [{name: http, port: 80, protocol: HTTP}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: ListenerSet,
	metadata: {name: set, namespace: shop, creationTimestamp: "2026-01-02T03:04:06Z"},
	spec: {parentRef: {name: main}, listeners: [{name: more, port: 81, protocol: HTTP}]}}`))
	listeners := served(c.provider(static.KubernetesGateway{})).Listeners.Listeners
	for name, want := range map[string]string{
		"shop_main_http": "2026-01-02T03:04:05Z", "shop_set_set_more": "2026-01-02T03:04:06Z",
	} {
		if one := listeners.Get(name); one == nil || one.Created.Format(time.RFC3339) != want {
			t.Errorf("%s: %+v, want one created at %s", name, one, want)
		}
	}
}
