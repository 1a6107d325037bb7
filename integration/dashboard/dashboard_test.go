package dashboard

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

const static = `
entryPoints:
  web: {address: "127.0.0.1:0"}
  websecure: {address: "127.0.0.1:0", http: {tls: {}}, asDefault: false}
  traefik: {address: "127.0.0.1:0"}
ping: {}
overload: {descriptors: {limit: 0}}
api: {insecure: true, dashboardName: edge-test, liveRequests: true}
metrics: {prometheus: {}}
providers:
  providersThrottleDuration: 50ms
  file: {directory: "${DYNAMIC}", watch: true}
`

// shop has each kind of object once, and three routers that cannot be applied. @ stands for a backtick.
const shop = `
http:
  routers:
    shop: {rule: "Host(@shop.example.com@) && PathPrefix(@/api@)", service: shop, middlewares: [guard, strip],
      entryPoints: [web]}
    split: {rule: "Host(@split.example.com@)", service: split, entryPoints: [web]}
    mirrored: {rule: "Host(@mirrored.example.com@)", service: mirrored, entryPoints: [web]}
    team: {rule: "Host(@team.example.com@) && Header(@X-Team@, @blue@)", service: cart, entryPoints: [web]}
    down: {rule: "Host(@down.example.com@)", service: down, entryPoints: [web]}
    secure: {rule: "Host(@secure.example.com@)", service: shop, entryPoints: [websecure]}
    broken: {rule: "Host(@broken.example.com@)", service: shop, middlewares: [jwt-shop], entryPoints: [web]}
    bad: {rule: "Host(@bad.example.com@", service: shop, entryPoints: [web]}
    "<img src=x onerror=alert(1)>": {rule: "Path(@/<script>alert(2)</script>@)", service: shop,
      middlewares: ["<b onclick=alert(5)>"], entryPoints: [web]}
  services:
    shop: {loadBalancer: {strategy: p2c, servers: [{url: "${A}"}, {url: "${B}"}, {url: "http://127.0.0.1:1"}],
      healthCheck: {path: /, interval: 500ms}}}
    cart: {loadBalancer: {servers: [{url: "${B}"}]}}
    split: {weighted: {services: [{name: shop, weight: 3}, {name: cart, weight: 1}]}}
    mirrored: {mirroring: {service: split, mirrors: [{name: cart, percent: 20}]}}
    down: {loadBalancer: {servers: [{url: "http://127.0.0.1:1"}]}}
  middlewares:
    guard: {chain: {middlewares: [rate, cors]}}
    rate: {rateLimit: {average: 1000, burst: 100}}
    cors: {headers: {customRequestHeaders: {X-Shop: "yes"}, accessControlAllowOriginList: ["https://app.example.com"]}}
    strip: {stripPrefix: {prefixes: [/api]}}
`

// many returns ten thousand routers with their services.
func many() string {
	var text strings.Builder
	text.WriteString("http:\n  routers:\n")
	for i := range 10_000 {
		fmt.Fprintf(&text, "    r%05d: {rule: 'Host(`r%d.example.com`)', service: s%d, entryPoints: [web]}\n", i, i, i%200)
	}
	text.WriteString("  services:\n")
	for i := range 200 {
		fmt.Fprintf(&text, "    s%d: {loadBalancer: {servers: [{url: '${A}'}, {url: '${B}'}]}}\n", i)
	}
	return text.String()
}

// TestDashboard uses the page as people do; each scenario is a function in browse.
func TestDashboard(t *testing.T) {
	chromium := newBrowser(t)
	sluice := start(t)
	for _, scenario := range []string{
		"opens", "searches", "routes", "fails", "explains", "follows", "quarantines", "keyboards", "hostile", "phones",
		"accessible", "measures", "misses", "tails", "declares", "loses",
	} {
		t.Run(scenario, func(t *testing.T) { chromium.run(t, sluice, "/dashboard/", scenario) })
	}
}

func start(t *testing.T) *harness.Sluice {
	t.Helper()
	a, b := harness.StartBackend(t, "a", nil), harness.StartBackend(t, "b", nil)
	sluice := harness.Start(t, harness.Setup{
		Static:  static,
		Dynamic: map[string]string{"shop.yaml": strings.ReplaceAll(shop, "@", "`"), "many.yaml": many()},
		Vars:    map[string]string{"A": "http://" + a.H1, "B": "http://" + b.H1},
	})
	sluice.Until("three routers that are not in use", func(r harness.Readiness) bool { return r.Quarantined == 3 })
	return sluice
}

func TestDashboardBelowABasePath(t *testing.T) {
	chromium := newBrowser(t)
	a := harness.StartBackend(t, "a", nil)
	sluice := harness.Start(t, harness.Setup{
		Static: strings.Replace(static, "dashboardName: edge-test", `basePath: /ops, dashboardName: "edge <two>"`, 1),
		Dynamic: map[string]string{
			"only.yaml": "http:\n  routers:\n    only: {rule: 'Host(`only.example.com`)', service: only, entryPoints: [web]}\n  services:\n    " +
				"only: {loadBalancer: {servers: [{url: '${A}'}]}}\n",
		},
		Vars: map[string]string{"A": "http://" + a.H1},
	})
	chromium.run(t, sluice, "/ops/dashboard/", "based")
}

// TestModules tests what the modules of the page compute, in Node.
func TestModules(t *testing.T) {
	chromium := newBrowser(t)
	output, err := exec.CommandContext(t.Context(), chromium.node, "--test", "unit/").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}
