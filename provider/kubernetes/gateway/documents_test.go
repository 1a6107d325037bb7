package gateway

import (
	"slices"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/static"
)

// TestManifestsHaveVerdicts proves that of manifests it is said by verdicts what is wrong, and that their Gateways
// serve although no cluster has them or their class.
func TestManifestsHaveVerdicts(t *testing.T) {
	c := newCluster()
	c.apply(t, []byte(`{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: main, namespace: shop},
		spec: {gatewayClassName: elsewhere, listeners: [
			{name: http, port: 80, protocol: HTTP, hostname: a.test}, {name: sctp, port: 81, protocol: SCTP}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: second, namespace: shop},
	spec: {gatewayClassName: elsewhere, listeners: [{name: http, port: 80, protocol: HTTP, hostname: a.test}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: shop}, spec: {
	parentRefs: [{name: main}, {name: second}, {name: second, sectionName: none}, {name: unknown}], rules: [
		{backendRefs: [{name: missing, port: 80}]},
		{matches: [{path: {type: RegularExpression, value: "("}}]}]}}`))
	p := assemble("kubernetes", static.KubernetesGateway{ControllerName: static.DefaultGatewayController}, c.watches(),
		&Documents{}, nil)
	configuration, _ := p.update()
	var got []string
	for _, verdict := range configuration.Verdicts {
		got = append(got, string(verdict.Code)+" "+verdict.Status.String()+" "+verdict.Reason)
	}
	slices.Sort(got)
	want := []string{
		"InvalidOption quarantined Dropped Rule: rule 1, match 0: the regular expression is not one of RE2: " +
			"error parsing regexp: missing closing ): `(`",
		"InvalidReference quarantined parent second: the parent has no such listener",
		"MissingReference degraded Gateway shop/unknown is not in the given manifests",
		"MissingService quarantined Service shop/missing does not exist",
		"UnsupportedKind quarantined listener sctp: the protocol SCTP is not supported",
	}
	if !slices.Equal(got, want) {
		t.Errorf("verdicts:\n%q, want\n%q", got, want)
	}
	addresses := map[string]bool{}
	for _, listener := range configuration.Listeners.Listeners.All() {
		if addresses[listener.Address] = true; listener.Protocol != dynamic.ListenerHTTP {
			t.Errorf("a listener for %s", listener.Protocol)
		}
	}
	if len(addresses) != 2 || configuration.HTTP.Routers.Len() != 2 {
		t.Errorf("%d addresses, %d routers", len(addresses), configuration.HTTP.Routers.Len())
	}
}
