package gateway

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluiceproxy/sluice/static"
)

// asking are a Gateway and a route whose rule, or whose backend, asks a service of another namespace.
func asking(filters, ofBackend string) []byte {
	return []byte(`{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: main, namespace: shop},
	spec: {gatewayClassName: sluice, listeners: [{name: http, port: 80, protocol: HTTP}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: shop}, spec: {
	parentRefs: [{name: main}], rules: [{filters: [` + filters + `],
	backendRefs: [{name: web, port: 80, filters: [` + ofBackend + `]}]}]}}`)
}

// permission lets HTTPRoutes of the namespace shop use the Service api of the namespace other.
const permission = `{apiVersion: gateway.networking.k8s.io/v1beta1, kind: ReferenceGrant,
	metadata: {name: one, namespace: other}, spec: {
	from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: shop}], to: [{group: "", kind: Service}]}}`

// answers returns the services of all routers, and the status of the route.
func answers(t *testing.T, p *Provider) (services, middlewares []string, route string) {
	t.Helper()
	configuration := served(p)
	for _, router := range configuration.HTTP.Routers.All() {
		service := router.Service
		if made := configuration.HTTP.Services.Get(service); made == nil {
			t.Errorf("there is no service %s", service)
		} else if made.DirectResponse != nil {
			service = "500"
		}
		services, middlewares = append(services, service), append(middlewares, router.Middlewares...)
	}
	for _, line := range statusLines(p) {
		if strings.HasPrefix(line, "status HTTPRoute shop/web") {
			route = line
		}
	}
	return services, middlewares, route
}

// TestRevokedGrantFailsTheRule takes the permission to ask a service away, and gives it back: without it every request
// of the rule is answered with 500, and nothing reaches the backend.
func TestRevokedGrantFailsTheRule(t *testing.T) {
	const filter = `{type: ExternalAuth, externalAuth: {protocol: PROTOCOL, OPTIONS: {},
	backendRef: {name: api, namespace: other, port: 80}}}`
	for _, protocol := range []string{"HTTP", "GRPC"} {
		one := strings.NewReplacer("PROTOCOL", protocol, "OPTIONS", strings.ToLower(protocol)).Replace(filter)
		for _, manifests := range [][]byte{asking(one, ""), asking("", one)} {
			c := newCluster()
			c.apply(t, common(t))
			c.apply(t, manifests)
			p := c.provider(static.KubernetesGateway{ExperimentalChannel: true})
			for i := range 2 {
				services, _, route := answers(t, p)
				if !slices.Equal(services, []string{"500"}) || !strings.Contains(route, "ResolvedRefs=False:RefNotPermitted") {
					t.Errorf("%s, %d: without permission %q answer; %s", protocol, i, services, route)
				}
				c.apply(t, []byte(permission))
				services, _, route = answers(t, p)
				if slices.Contains(services, "500") || !strings.Contains(route, "ResolvedRefs=True:ResolvedRefs") {
					t.Errorf("%s, %d: with permission %q answer; %s", protocol, i, services, route)
				}
				asks(t, p, "other.api,80,"+map[string]string{"HTTP": "http", "GRPC": "h2c"}[protocol])
				c.grants.drop(types.NamespacedName{Namespace: "other", Name: "one"})
			}
		}
	}
}

// asks expects that exactly one middleware asks the service, which exists.
func asks(t *testing.T, p *Provider, service string) {
	t.Helper()
	configuration := served(p)
	var asked []string
	for _, made := range configuration.HTTP.Middlewares.All() {
		if made.ExternalAuth != nil {
			asked = append(asked, made.ExternalAuth.Service)
		}
	}
	if !slices.Equal(asked, []string{service}) {
		t.Errorf("middlewares ask %q, want %s", asked, service)
	}
	if made := configuration.HTTP.Services.Get(service); made == nil || made.LoadBalancer == nil {
		t.Errorf("there is no service %s", service)
	}
}

// TestFiltersThatCannotBeApplied has options that the CRD accepts and that can't be followed fail the rule, with a
// status.
func TestFiltersThatCannotBeApplied(t *testing.T) {
	for _, options := range []string{
		`protocol: HTTP, http: {allowedHeaders: ["a b"]}`,
		`protocol: HTTP, http: {allowedHeaders: [":path"]}`,
		`protocol: HTTP, http: {allowedResponseHeaders: [host]}`,
		`protocol: HTTP, http: {allowedResponseHeaders: [Content_Length]}`,
		`protocol: HTTP, http: {path: /a/../b}`,
		`protocol: HTTP, http: {path: /a/%2e%2e}`,
		`protocol: GRPC, grpc: {allowedHeaders: ["a\nb"]}`,
	} {
		filter := `{type: ExternalAuth, externalAuth: {` + options + `, backendRef: {name: web, port: 80}}}`
		for _, manifests := range [][]byte{asking(filter, ""), asking("", filter)} {
			c := newCluster()
			c.apply(t, common(t))
			c.apply(t, manifests)
			services, _, route := answers(t, c.provider(static.KubernetesGateway{ExperimentalChannel: true}))
			if !slices.Equal(services, []string{"500"}) || !strings.Contains(route, "UnsupportedValue") {
				t.Errorf("%s: %q answer; %s", options, services, route)
			}
		}
	}
}

// TestBackendsThatCannotBeAuthorized has all backends of one of two rules have options that cannot be applied: each
// answers 500 for its share, and the route says so and is accepted.
func TestBackendsThatCannotBeAuthorized(t *testing.T) {
	const wrong = `{name: web, port: 80, filters: [{type: ExternalAuth, externalAuth: {protocol: HTTP,
	http: {allowedResponseHeaders: [host]}, backendRef: {name: web, port: 80}}}]}`
	c := newCluster()
	c.apply(t, common(t))
	c.apply(t, []byte(`{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: main, namespace: shop},
	spec: {gatewayClassName: sluice, listeners: [{name: http, port: 80, protocol: HTTP}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: shop}, spec: {
	parentRefs: [{name: main}], rules: [{backendRefs: [`+wrong+`, `+wrong+`]},
	{matches: [{path: {value: /good}}], backendRefs: [{name: web, port: 80}]}]}}`))
	services, _, route := answers(t, c.provider(static.KubernetesGateway{ExperimentalChannel: true}))
	slices.Sort(services)
	if !slices.Equal(services, []string{"httproute-shop.web,000", "shop.web,80,http"}) ||
		!strings.Contains(route, "Accepted=True") || !strings.Contains(route, "ResolvedRefs=False:UnsupportedValue") {
		t.Errorf("%q answer; %s", services, route)
	}
}

// TestMirrorsOfBackendsFollowAuthorization has the copies of a backend's requests be sent after its other filters, one
// of which may refuse them.
func TestMirrorsOfBackendsFollowAuthorization(t *testing.T) {
	c := newCluster()
	c.apply(t, common(t))
	c.apply(t, asking("", `{type: RequestMirror, requestMirror: {backendRef: {name: web, port: 80}}},
	{type: ExternalAuth, externalAuth: {protocol: HTTP, http: {}, backendRef: {name: web, port: 80}}}`))
	p := c.provider(static.KubernetesGateway{ExperimentalChannel: true})
	services, _, route := answers(t, p)
	if len(services) != 1 {
		t.Fatalf("%q answer; %s", services, route)
	}
	configuration := served(p)
	outer := configuration.HTTP.Services.Get(services[0])
	if outer.Mirroring == nil || len(outer.Middlewares) != 1 || !strings.HasSuffix(outer.Middlewares[0], "externalauth") {
		t.Fatalf("the router has the service %+v; %s", outer, route)
	}
	if inner := configuration.HTTP.Services.Get(outer.Mirroring.Service); inner == nil || len(inner.Middlewares) > 0 {
		t.Errorf("the mirrored service is %+v", inner)
	}
}

// TestFiltersKeepTheirOrder has a service be asked where the rule says, between other filters, and preflight requests
// be answered before.
func TestFiltersKeepTheirOrder(t *testing.T) {
	c := newCluster()
	c.apply(t, common(t))
	c.extensions.put("sluice.dev", "Middleware", "shop", "limit", true)
	c.apply(t, asking(`{type: ExternalAuth, externalAuth: {protocol: HTTP, http: {}, backendRef: {name: web, port: 80}}},
	{type: ExtensionRef, extensionRef: {group: sluice.dev, kind: Middleware, name: limit}},
	{type: URLRewrite, urlRewrite: {path: {type: ReplaceFullPath, replaceFullPath: /one}}},
	{type: CORS, cors: {allowOrigins: ["https://a.test"]}}`, ""))
	_, middlewares, route := answers(t, c.provider(static.KubernetesGateway{ExperimentalChannel: true}))
	want := []string{
		"httproute-shop.web,000,03-cors", "httproute-shop.web,000,00-externalauth", "shop-limit@kubernetescrd",
		"httproute-shop.web,000,02-urlrewrite",
	}
	if !slices.Equal(middlewares, want) {
		t.Errorf("the middlewares are %q, want %q; %s", middlewares, want, route)
	}
}

// TestExternalAuthIsDeclared has GatewayClasses declare the features of the experimental channel, and there only.
func TestExternalAuthIsDeclared(t *testing.T) {
	for _, experimental := range []bool{false, true} {
		declared := 0
		for _, feature := range supportedFeatures(experimental) {
			if strings.HasPrefix(string(feature.Name), "HTTPRouteExternalAuth") {
				declared++
			}
		}
		if declared != map[bool]int{false: 0, true: 4}[experimental] {
			t.Errorf("experimental %t: %d features are declared", experimental, declared)
		}
	}
}
