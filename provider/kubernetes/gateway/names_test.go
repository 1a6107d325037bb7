package gateway

import (
	"fmt"
	"testing"

	"github.com/sluiceproxy/sluice/static"
)

// TestNamesOfGatewaysAreForgotten proves that memory does not grow with the names of Gateways that routes and
// ListenerSets refer to and that do not exist, or not any more, and that one that appears is still found by those that
// have named it before.
func TestNamesOfGatewaysAreForgotten(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.generation = 1
	c.apply(t, common(t))
	p := c.provider(static.KubernetesGateway{})
	route := func(gateway string) {
		c.apply(t, fmt.Appendf(nil, `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute,
	metadata: {name: r, namespace: shop}, spec: {
	parentRefs: [{name: %s}, {name: %s, kind: ListenerSet}], rules: [{backendRefs: [{name: web, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: ListenerSet, metadata: {name: s, namespace: shop}, spec: {
	parentRef: {name: %s}, listeners: [{name: l, port: 81, protocol: HTTP}]}}`, gateway, gateway, gateway))
	}
	gateway := func(name, class string) {
		c.apply(t, fmt.Appendf(nil, `{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway,
	metadata: {name: %s, namespace: shop}, spec: {gatewayClassName: %s,
	allowedListeners: {namespaces: {from: Same}}, listeners: [{name: http, port: 80, protocol: HTTP}]}}`, name, class))
	}
	for i := range 1000 {
		name := fmt.Sprint("g", i)
		route(name)
		p.update()
		if i%10 == 0 {
			gateway(name, []string{"sluice", "foreign"}[i/10%2])
			p.update()
			for one := range c.gateways.All() {
				c.gateways.drop(nameOf(one))
			}
			p.update()
		}
	}
	if len(p.views)+len(p.plans)+len(p.statuses.bases)+len(p.statuses.stale)+len(p.sets.of) != 1 {
		t.Errorf("%d views, %d plans, %d bases, %d stale owners and %d parents of sets are kept", len(p.views),
			len(p.plans), len(p.statuses.bases), len(p.statuses.stale), len(p.sets.of))
	}
	route("late")
	p.update()
	gateway("late", "sluice")
	configuration := served(p)
	if got := configuration.HTTP.Routers.Len(); got != 1 {
		t.Errorf("a Gateway that came after its route has %d routers, want 1:\n%s", got, shown(t, configuration, p))
	}
	if got := configuration.Listeners.Listeners.Len(); got != 2 {
		t.Errorf("a Gateway that came after its ListenerSet has %d listeners with that, want 2", got)
	}
}
