package gateway

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/static"
)

// TestMissingFilterFailsTheRule proves that a rule whose filter does not exist answers with an error until it does, and
// that namespaces may be kept from filters.
func TestMissingFilterFailsTheRule(t *testing.T) {
	c := newCluster()
	c.apply(t, common(t))
	c.apply(t, []byte(`{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: main, namespace: shop},
		spec: {gatewayClassName: sluice, listeners: [{name: http, port: 80, protocol: HTTP}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: shop}, spec: {
	parentRefs: [{name: main}], rules: [{backendRefs: [{name: web, port: 80}], filters: [
		{type: ExtensionRef, extensionRef: {group: traefik.io, kind: Middleware, name: late}}]}]}}`))
	const failing, resolved = "httproute-shop.web,error", "ResolvedRefs=True:ResolvedRefs"
	expect := func(p *Provider, when, service, middlewares, condition string) {
		t.Helper()
		configuration := served(p)
		var router *dynamic.Router
		for _, router = range configuration.HTTP.Routers.All() {
			if router.Service != service || strings.Join(router.Middlewares, " ") != middlewares {
				t.Errorf("%s: %q with %q, want %q with %q", when, router.Service, router.Middlewares, service, middlewares)
			}
		}
		if router == nil || !slices.ContainsFunc(statusLines(p), func(line string) bool {
			return strings.Contains(line, "HTTPRoute shop/web") && strings.Contains(line, "Accepted=True") &&
				strings.Contains(line, condition)
		}) {
			t.Errorf("%s: no status %s in %q", when, condition, statusLines(p))
		}
	}
	p := c.provider(static.KubernetesGateway{})
	expect(p, "missing", failing, "", "ResolvedRefs=False:BackendNotFound")
	c.extensions.put("sluice.dev", "Middleware", "shop", "late", true)
	expect(p, "of another group", failing, "", "ResolvedRefs=False:BackendNotFound")
	c.extensions.put("traefik.io", "Middleware", "other", "late", true)
	expect(p, "of another namespace", failing, "", "ResolvedRefs=False:BackendNotFound")
	c.extensions.put("traefik.io", "Middleware", "shop", "late", true)
	expect(p, "there", "shop.web,80,http", "shop-late@kubernetescrd", resolved)
	listed := c.provider(static.KubernetesGateway{CrossProviderNamespaces: []string{"other"}})
	expect(listed, "not listed", failing, "", "ResolvedRefs=False:RefNotPermitted")
	listed = c.provider(static.KubernetesGateway{CrossProviderNamespaces: []string{"other", "shop"}})
	expect(listed, "listed", "shop.web,80,http", "shop-late@kubernetescrd", resolved)
	c.extensions.put("traefik.io", "Middleware", "shop", "late", false)
	expect(p, "gone", failing, "", "ResolvedRefs=False:BackendNotFound")
}

// TestServicesOfSluiceItselfAreNoBackends proves that a route leads to services of Sluice itself, such as the API, only
// where the namespace is listed, and to those of other providers also where no namespaces are.
func TestServicesOfSluiceItselfAreNoBackends(t *testing.T) {
	for _, test := range []struct {
		backend string
		listed  []string
		want    string // ResolvedRefs
	}{
		{"api@internal", nil, "False:RefNotPermitted"},
		{"x@file@internal", nil, "False:RefNotPermitted"},
		{"api@internal", []string{"other"}, "False:RefNotPermitted"},
		{"api@internal", []string{"other", "shop"}, "True:ResolvedRefs"},
		{"x@file", nil, "True:ResolvedRefs"},
		{"x@file@kubernetescrd", []string{"shop"}, "False:RefNotPermitted"},
	} {
		c := newCluster()
		c.apply(t, common(t))
		c.apply(t, []byte(`{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: main, namespace: shop},
	spec: {gatewayClassName: sluice, listeners: [{name: http, port: 80, protocol: HTTP}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: shop}, spec: {
	parentRefs: [{name: main}], rules: [{backendRefs: [
		{group: traefik.io, kind: TraefikService, name: "`+test.backend+`"}]}]}}`))
		p := c.provider(static.KubernetesGateway{CrossProviderNamespaces: test.listed})
		permitted := false
		for _, router := range served(p).HTTP.Routers.All() {
			permitted = permitted || router.Service == test.backend
		}
		lines := strings.Join(statusLines(p), "\n")
		_, route, _ := strings.Cut(lines, "status HTTPRoute shop/web")
		if !strings.Contains(route, "ResolvedRefs="+test.want) || permitted != strings.HasPrefix(test.want, "True") {
			t.Errorf("%s with %q: permitted %v, want %s in\n%s", test.backend, test.listed, permitted, test.want, lines)
		}
	}
}
