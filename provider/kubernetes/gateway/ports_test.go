package gateway

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/static"
)

// recordingExposure records the ports that Gateways ask for.
type recordingExposure struct {
	fakeExposure
	ports map[string]string
}

func (e *recordingExposure) Expose(gateway *gatewayv1.Gateway, ports []Port) Exposed {
	var numbers []int32
	for _, port := range ports {
		numbers = append(numbers, port.Number)
	}
	e.ports[gateway.Name] = fmt.Sprint(numbers)
	return e.fakeExposure.Expose(gateway, ports)
}

// TestListenersThatCannotServeLeavePorts proves that where one Gateway has a port of the node, none asks for that of a
// listener that cannot serve, and asks for it as soon as it can. Others have ports of their own, which stay.
func TestListenersThatCannotServeLeavePorts(t *testing.T) {
	t.Parallel()
	manifests := []byte(`{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: main, namespace: shop},
	spec: {gatewayClassName: sluice, allowedListeners: {namespaces: {from: Same}}, listeners: [
		{name: plain, port: 80, protocol: HTTP},
		{name: secure, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: late}]}},
		{name: through, port: 444, protocol: TLS, tls: {mode: Passthrough}},
		{name: none, port: 445, protocol: HTTP, allowedRoutes: {kinds: [{kind: TCPRoute}]}},
		{name: unknown, port: 446, protocol: example.com/other}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: ListenerSet, metadata: {name: set, namespace: shop}, spec: {
	parentRef: {name: main}, listeners: [
		{name: secure, port: 450, protocol: HTTPS, tls: {certificateRefs: [{name: late}]}}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: clients, namespace: shop},
	spec: {gatewayClassName: sluice, listeners: [
		{name: secure, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: there}]}}],
		tls: {frontend: {default: {validation: {caCertificateRefs: [{group: "", kind: ConfigMap, name: none}]}}}}}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: refused, namespace: shop},
	spec: {gatewayClassName: sluice, listeners: [{name: plain, port: 80, protocol: HTTP}],
		infrastructure: {parametersRef: {group: example.com, kind: Options, name: some}}}}
---
{apiVersion: v1, kind: Secret, type: kubernetes.io/tls, metadata: {name: there, namespace: shop},
	stringData: {generate: "true"}}`)
	late := []byte(`{apiVersion: v1, kind: Secret, type: kubernetes.io/tls, metadata: {name: late, namespace: shop},
	stringData: {generate: "true"}}`)
	all := map[string]string{"main": "[80 443 444 445 450]", "clients": "[443]", "refused": "[80]"}
	for name, test := range map[string]struct {
		options       static.KubernetesGateway
		before, after map[string]string
	}{
		"node": {
			static.KubernetesGateway{Exposure: static.ExposeOnNode},
			map[string]string{"main": "[80 444]", "clients": "[]", "refused": "[]"},
			map[string]string{"main": "[80 443 444 450]", "clients": "[]", "refused": "[]"},
		},
		"node, merged": {static.KubernetesGateway{Exposure: static.ExposeOnNode, MergeGateways: true}, all, all},
		"service":      {static.KubernetesGateway{Exposure: static.ExposeByService}, all, all},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster()
			c.apply(t, common(t))
			c.apply(t, manifests)
			p := c.provider(test.options)
			recorded := &recordingExposure{ports: map[string]string{}}
			p.exposure = recorded
			served(p)
			if diff := cmp.Diff(test.before, recorded.ports); diff != "" {
				t.Errorf("ports without the certificate (-want +got)\n%s", diff)
			}
			c.apply(t, late)
			configuration := served(p)
			if diff := cmp.Diff(test.after, recorded.ports); diff != "" {
				t.Errorf("ports with the certificate (-want +got)\n%s", diff)
			}
			for _, listener := range []string{"shop_main_secure", "shop_set_set_secure"} {
				if configuration.Listeners.Listeners.Get(listener) == nil {
					t.Errorf("%s is not declared with its certificate", listener)
				}
			}
		})
	}
}
