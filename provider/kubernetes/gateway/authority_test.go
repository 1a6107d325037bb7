package gateway

import (
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client/clienttest"
	"github.com/sluiceproxy/sluice/static"
)

// TestAuthoritiesAreParsedOnce proves that routes whose Services have policies with one ConfigMap share what was parsed
// of it: a further backend costs far less memory than the certificates do.
func TestAuthoritiesAreParsedOnce(t *testing.T) {
	first, _ := generated(t)
	many := make([][]byte, 200)
	for i := range many {
		many[i] = first
	}
	c := newCluster()
	c.apply(t, common(t))
	c.apply(t, []byte(`{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: main, namespace: shop},
	spec: {gatewayClassName: sluice, listeners: [{name: http, port: 80, protocol: HTTP}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: BackendTLSPolicy, metadata: {name: web, namespace: shop}, spec: {
	targetRefs: [{group: "", kind: Service, name: web}],
	validation: {hostname: web.test, caCertificateRefs: [{group: "", kind: ConfigMap, name: many}]}}}`))
	c.configMaps.put(authorityConfig("many", many...))
	backends := func(n int) float64 {
		route := clienttest.Parse[gatewayv1.HTTPRoute](t, []byte(`{metadata: {name: web, namespace: shop}, spec: {
			parentRefs: [{name: main}], rules: [{}]}}`))
		for range n {
			ref := gatewayv1.HTTPBackendRef{}
			ref.Name, ref.Port = "web", new(gatewayv1.PortNumber)
			*ref.Port = 80
			route.Spec.Rules[0].BackendRefs = append(route.Spec.Rules[0].BackendRefs, ref)
		}
		c.httpRoutes.put(route)
		return testing.AllocsPerRun(1, func() { served(c.provider(static.KubernetesGateway{})) })
	}
	one, sixteen := backends(1), backends(16)
	if each := (sixteen - one) / 15; each > float64(len(many)) {
		t.Errorf("a further backend takes %.0f allocations, want less than a bundle of %d certificates", each, len(many))
	}
}

// authorityConfig returns a ConfigMap of the namespace shop with certificates of authorities.
func authorityConfig(name string, certificates ...[]byte) *corev1.ConfigMap {
	var all strings.Builder
	for _, one := range certificates {
		all.Write(one)
	}
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Data: map[string]string{"ca.crt": all.String()},
	}
}

// trusted returns the certificates of all texts, each of which must be valid.
func trusted(t *testing.T, texts []string) string {
	t.Helper()
	var all strings.Builder
	for _, text := range texts {
		for block, rest := pem.Decode([]byte(text)); block != nil; block, rest = pem.Decode(rest) {
			if _, err := x509.ParseCertificate(block.Bytes); err != nil {
				t.Errorf("a certificate is passed on that is not valid: %v", err)
			}
			all.Write(pem.EncodeToMemory(block))
		}
	}
	return all.String()
}

// TestInvalidCertificateOfAnAuthorityIsLeftOut proves that of a ConfigMap with a certificate that is not valid, the
// others are trusted and no more, by listeners for clients and by policies for backends, and that statuses say so.
func TestInvalidCertificateOfAnAuthorityIsLeftOut(t *testing.T) {
	t.Parallel()
	first, _ := generated(t)
	second, _ := generated(t)
	broken := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("none")})
	c := newCluster()
	c.apply(t, common(t))
	c.apply(t, []byte(`{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: main, namespace: shop},
	spec: {gatewayClassName: sluice,
		tls: {frontend: {default: {validation: {caCertificateRefs: [{group: "", kind: ConfigMap, name: mixed}]}}}},
		listeners: [{name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: cert}]}}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: BackendTLSPolicy, metadata: {name: web, namespace: shop}, spec: {
	targetRefs: [{group: "", kind: Service, name: web}],
	validation: {hostname: web.test, caCertificateRefs: [{group: "", kind: ConfigMap, name: mixed}]}}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: shop}, spec: {
	parentRefs: [{name: main}], rules: [{backendRefs: [{name: web, port: 80}]}]}}`))
	c.configMaps.put(authorityConfig("mixed", first, second))
	p := c.provider(static.KubernetesGateway{})
	for _, test := range []struct {
		name           string
		given          [][]byte
		want, resolved string
	}{
		{"all are valid", [][]byte{first, second}, string(first) + string(second), "ResolvedRefs=True"},
		{"one is broken", [][]byte{first, broken}, string(first), "ResolvedRefs=False:InvalidCACertificateRef"},
		{"one is valid", [][]byte{second}, string(second), "ResolvedRefs=True"},
	} {
		c.configMaps.put(authorityConfig("mixed", test.given...))
		configuration := served(p)
		clients, backends := 0, 0
		for ref, object := range configuration.Objects() {
			switch one := object.(type) {
			case *dynamic.TLSOptions:
				clients++
				if got := trusted(t, one.ClientAuth.CAFiles); got != test.want {
					t.Errorf("%s: %s trusts\n%s, want\n%s", test.name, ref.Name, got, test.want)
				}
			case *dynamic.ServersTransport:
				backends++
				if got := trusted(t, one.RootCAs); got != test.want {
					t.Errorf("%s: %s trusts\n%s, want\n%s", test.name, ref.Name, got, test.want)
				}
			}
		}
		if clients != 1 || backends != 1 {
			t.Errorf("%s: there are %d TLS options and %d transports, want one each", test.name, clients, backends)
		}
		said := 0
		for _, line := range statusLines(p) {
			if strings.Contains(line, "  https: ") || strings.Contains(line, "BackendTLSPolicy shop/web") {
				if said++; !strings.Contains(line, test.resolved) {
					t.Errorf("%s: %s, want %s", test.name, line, test.resolved)
				}
			}
		}
		if said != 2 {
			t.Errorf("%s: %d statuses, want those of the listener and of the policy", test.name, said)
		}
	}
}
