package dashboard

import (
	"fmt"
	"strings"
	"testing"

	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// gallery is what the pictures show: a few applications, of which two are not well.
const gallery = `
http:
  routers:
    shop: {rule: "Host(@shop.example.com@) && PathPrefix(@/api@)", service: shop, middlewares: [guard, strip],
      entryPoints: [web]}
    checkout: {rule: "Host(@shop.example.com@) && PathPrefix(@/checkout@) && !Header(@X-Canary@, @yes@)",
      service: checkout, middlewares: [guard], entryPoints: [web]}
    canary: {rule: "Host(@shop.example.com@) && PathPrefix(@/checkout@)", service: canary, middlewares: [guard],
      entryPoints: [web]}
    search: {rule: "Host(@search.example.com@)", service: search, entryPoints: [web]}
    reports: {rule: "Host(@reports.example.com@)", service: reports, entryPoints: [web]}
    accounts: {rule: "Host(@accounts.example.com@)", service: shop, middlewares: [single-sign-on], entryPoints: [web]}
    accounts-api: {rule: "Host(@api.example.com@) && PathPrefix(@/accounts@)", service: shop,
      middlewares: [single-sign-on], entryPoints: [web]}
  services:
    shop: {loadBalancer: {strategy: leasttime, servers: [{url: "${A}"}, {url: "${B}"}, {url: "http://127.0.0.1:1"}],
      healthCheck: {path: /, interval: 500ms}}}
    checkout: {loadBalancer: {strategy: p2c, servers: [{url: "${A}"}, {url: "${B}"}]}}
    search: {loadBalancer: {strategy: p2c, servers: [{url: "${B}"}, {url: "${A}"}]}}
    canary: {weighted: {services: [{name: checkout, weight: 95}, {name: shop, weight: 5}]}}
    reports: {loadBalancer: {servers: [{url: "http://127.0.0.1:1"}]}}
  middlewares:
    guard: {chain: {middlewares: [rate, headers]}}
    rate: {rateLimit: {average: 1000, burst: 100}}
    headers: {headers: {customRequestHeaders: {X-Shop: "yes"}}}
    strip: {stripPrefix: {prefixes: [/api]}}
`

// TestPictures takes the pictures of the documentation, with -update alone.
func TestPictures(t *testing.T) {
	if !*update {
		return
	}
	chromium := newBrowser(t)
	a, b := harness.StartBackend(t, "a", nil), harness.StartBackend(t, "b", nil)
	sluice := harness.Start(t, harness.Setup{
		Static:  strings.NewReplacer("${DYNAMIC}", "dynamic", "edge-test", "edge-1").Replace(published),
		Dynamic: map[string]string{"shop.yaml": strings.ReplaceAll(gallery, "@", "`"), "tenants.yaml": tenants()},
		Vars:    map[string]string{"A": "http://" + a.H1, "B": "http://" + b.H1},
	})
	sluice.Until("two routers that are not in use", func(r harness.Readiness) bool { return r.Quarantined == 2 })
	connect(t, sluice, picturedClients()...)
	chromium.run(t, sluice, "/dashboard/", "pictures")
}

// picturedClients are the clients of the pictures, of which one rejects a response.
func picturedClients() []xdsClient {
	clients := xdsClients()
	for _, name := range []string{"checkout", "search"} {
		for i := range 3 {
			names := map[string][]string{
				resource.ListenerType: {name + "@file"}, resource.ClusterType: {name + "@file"},
				resource.EndpointType: {name + "@file"},
			}
			clients = append(clients, xdsClient{node: fmt.Sprintf("%s-%d", name, i), agent: "gRPC Java", names: names})
		}
	}
	return clients
}

// tenants returns some hundreds of routers.
func tenants() string {
	var text strings.Builder
	text.WriteString("http:\n  routers:\n")
	for i := range 400 {
		fmt.Fprintf(&text, "    tenant-%03d: {rule: 'Host(`t%03d.example.com`)', service: search, entryPoints: [web]}\n", i,
			i)
	}
	return text.String()
}
