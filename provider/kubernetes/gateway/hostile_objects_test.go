package gateway

import (
	"crypto/rand"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/provider/kubernetes/client/clienttest"
)

// tenants are the manifests of a tenant in the namespace good, and the frame of one in the namespace evil.
const tenants = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: sluice}
spec: {controllerName: sluice.dev/gateway-controller}
---
{apiVersion: v1, kind: Service, metadata: {name: web, namespace: good}, spec: {ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Secret, metadata: {name: tls, namespace: good}, stringData: {generate: "yes"}}
---
{apiVersion: v1, kind: Secret, metadata: {name: tls, namespace: evil}, stringData: {generate: "yes"}}
---
{apiVersion: v1, kind: Service, metadata: {name: web, namespace: lent}, spec: {ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: web, namespace: evil}, spec: {ports: [{port: 80}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: main, namespace: good, creationTimestamp: "2026-01-01T00:00:00Z"}
spec:
  gatewayClassName: sluice
  listeners:
  - {name: http, port: 80, protocol: HTTP, hostname: "*.good.test"}
  - {name: https, port: 443, protocol: HTTPS, hostname: h1.good.test, tls: {certificateRefs: [{name: tls}]}}
`

// goodRoute returns a route of the tenant good.
func goodRoute(t *testing.T, n int) *gatewayv1.HTTPRoute {
	t.Helper()
	return clienttest.Parse[gatewayv1.HTTPRoute](t, fmt.Appendf(nil, `{metadata: {name: r%d, namespace: good}, spec: {
		parentRefs: [{name: main}], hostnames: [h%d.good.test], rules: [
			{matches: [{path: {type: Exact, value: /x}}], backendRefs: [{name: web, port: 80}],
				filters: [{type: RequestHeaderModifier, requestHeaderModifier: {remove: [x-internal]}}]},
			{backendRefs: [{name: web, port: 80}]}]}}`, n, n))
}

// invalidRoutes are the routes of the tenant evil, as a parentRef and the rest of a specification, each with the
// conditions that say what is wrong; %d is the number of the route. The last one is valid while a ReferenceGrant is
// there.
func invalidRoutes() [][3]string {
	const own = `{name: main, sectionName: l0}`
	const accepted, resolved = " Accepted=True:Accepted@0", " ResolvedRefs=True:ResolvedRefs@0"
	backend := func(ref string) string { return `rules: [{backendRefs: [` + ref + `]}]` }
	filter := func(filters string) string {
		return `rules: [{backendRefs: [{name: web, port: 80}], filters: [` + filters + `]}]`
	}
	return [][3]string{
		{own, backend(`{name: none-%d, port: 80}`), accepted + " ResolvedRefs=False:BackendNotFound@0"},
		{own, backend(`{name: web, port: 81}`), accepted + " ResolvedRefs=False:BackendNotFound@0"},
		{own, backend(`{name: web, namespace: good, port: 80}`), accepted + " ResolvedRefs=False:RefNotPermitted@0"},
		{own, backend(`{name: secret-%d, namespace: good, port: 80}`), accepted + " ResolvedRefs=False:RefNotPermitted@0"},
		{own, backend(`{kind: Pod, name: web-%d}`), accepted + " ResolvedRefs=False:InvalidKind@0"},
		{
			own, `rules: [{matches: [{path: {type: RegularExpression, value: "(%d"}}],
				backendRefs: [{name: web, port: 80}]}]`,
			" Accepted=False:UnsupportedValue@0" + resolved,
		},
		{
			own, filter(`{type: ExtensionRef, extensionRef: {group: sluice.dev, kind: Middleware, name: none-%d}}`),
			accepted + " ResolvedRefs=False:BackendNotFound@0",
		},
		{own, filter(`{type: Unknown}`), " Accepted=False:UnsupportedValue@0" + resolved},
		{
			own, filter(`{type: RequestRedirect, requestRedirect: {port: 81}},
				{type: URLRewrite, urlRewrite: {hostname: a.test}}`),
			" Accepted=False:IncompatibleFilters@0" + resolved,
		},
		{
			`{name: main, sectionName: none-%d}`, backend(`{name: web, port: 80}`),
			" Accepted=False:NoMatchingParent@0" + resolved,
		},
		{
			`{name: main, namespace: good}`, `hostnames: [h%d.good.test], ` + backend(`{name: web, port: 80}`),
			" Accepted=False:NotAllowedByListeners@0" + resolved,
		},
		{
			own, `hostnames: [h%d.elsewhere.test], ` + backend(`{name: web, port: 80}`),
			" Accepted=False:NoMatchingListenerHostname@0" + resolved,
		},
		{`{name: gone-%d}`, backend(`{name: web, port: 80}`), "none"},
		{`{kind: ListenerSet, name: gone-%d}`, backend(`{name: web, port: 80}`), "none"},
		{own, backend(`{name: web, namespace: lent, port: 80}`), accepted + " ResolvedRefs=False:RefNotPermitted@0"},
	}
}

// grabbing returns 64 listeners: one of evil's own, and others with the hostnames of the tenant good, with certificates
// that are good's, garbage, or evil's.
func grabbing() []gatewayv1.Listener {
	hostname := func(text string) *gatewayv1.Hostname { return new(gatewayv1.Hostname(text)) }
	listeners := []gatewayv1.Listener{
		{Name: "l0", Port: 80, Protocol: gatewayv1.HTTPProtocolType, Hostname: hostname("*.evil.test")},
	}
	for i := 1; i < 64; i++ {
		one := gatewayv1.Listener{
			Name: gatewayv1.SectionName(fmt.Sprintf("l%d", i)), Port: 80, Protocol: gatewayv1.HTTPProtocolType,
			Hostname: hostname(fmt.Sprintf("h%d.good.test", i)),
		}
		if i == 32 {
			one.Hostname = hostname("*.good.test")
		}
		if i%2 == 1 {
			one.Port, one.Protocol = 443, gatewayv1.HTTPSProtocolType
			ref := gatewayv1.SecretObjectReference{Name: "tls"}
			switch i % 6 {
			case 1:
				ref.Namespace = new(gatewayv1.Namespace("good"))
			case 3:
				ref.Name = gatewayv1.ObjectName(fmt.Sprintf("garbage-%d", i/6))
			}
			one.TLS = &gatewayv1.ListenerTLSConfig{CertificateRefs: []gatewayv1.SecretObjectReference{ref}}
		}
		listeners = append(listeners, one)
	}
	return listeners
}

// garbage returns Secrets that are none for TLS: of noise, with a certificate but another one's key, and large.
func garbage(t *testing.T) []*corev1.Secret {
	t.Helper()
	first, _ := generated(t)
	_, other := generated(t)
	noise := make([]byte, 1<<20)
	if _, err := rand.Read(noise); err != nil {
		t.Fatal(err)
	}
	var all []*corev1.Secret
	for i := range 64 {
		data := map[string][]byte{corev1.TLSCertKey: noise[:i*1000], corev1.TLSPrivateKeyKey: noise}
		switch i % 3 {
		case 1:
			data = map[string][]byte{corev1.TLSCertKey: first, corev1.TLSPrivateKeyKey: other}
		case 2:
			data = map[string][]byte{corev1.TLSCertKey: slices.Repeat([]byte("-----BEGIN CERTIFICATE-----\n"), 1000)}
		}
		all = append(all, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "evil", Name: fmt.Sprintf("garbage-%d", i)}, Data: data,
		})
	}
	return all
}
