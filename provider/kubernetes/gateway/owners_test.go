package gateway

import (
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/static"
)

// TestListenerSetOfAnotherKindIsNoneOfTheGateway proves that a ListenerSet whose parent has the name of a Gateway and
// another kind neither counts as one of the Gateway nor takes a port from those that are.
func TestListenerSetOfAnotherKindIsNoneOfTheGateway(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.apply(t, common(t))
	c.apply(t, []byte(`{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: main, namespace: shop},
	spec: {gatewayClassName: sluice, allowedListeners: {namespaces: {from: Same}},
		listeners: [{name: http, port: 80, protocol: HTTP}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: ListenerSet, metadata: {name: a, namespace: shop}, spec: {
	parentRef: {name: main, group: example.com, kind: Tunnel}, listeners: [{name: l, port: 81, protocol: TCP}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: ListenerSet, metadata: {name: b, namespace: shop}, spec: {
	parentRef: {name: main}, listeners: [{name: l, port: 81, protocol: HTTP}]}}`))
	p := c.provider(static.KubernetesGateway{})
	configuration := served(p)
	if shownAs := string(shown(t, configuration, p)); !strings.Contains(shownAs, "shop_set_b_l ") {
		t.Errorf("the ListenerSet of the Gateway is not served:\n%s", shownAs)
	}
	lines := strings.Join(statusLines(p), "\n")
	if !strings.Contains(lines, "status Gateway shop/main: 1 addresses, 1 sets") {
		t.Errorf("the Gateway does not have one ListenerSet:\n%s", lines)
	}
}
