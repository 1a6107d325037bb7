package kubernetes

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/static"
)

var update = flag.Bool("update", false, "write the goldens anew")

// classOf has a GatewayClass of Sluice with the name of an IngressClass, which ingress2gateway gives to Gateways.
func classOf(ingressClass string) string {
	return fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata: {name: %s}\n"+
		"spec: {controllerName: %s}\n", ingressClass, static.DefaultGatewayController)
}

// convertedObjects are what the Ingresses of testdata/ingress2gateway refer to.
func convertedObjects(t *testing.T) string {
	t.Helper()
	all := []string{
		secretFor(t, "shop", "shop-tls", "shop.example.com", "api.example.com"),
		secretFor(t, "shop", "wildcard-tls", "*.example.com"),
		serviceFor("shop", "checkout", 8080), classOf("nginx"),
	}
	for _, name := range []string{
		"web", "cart", "cart-canary", "static", "health", "api", "admin", "tenants", "status", "fallback", "legacy",
	} {
		all = append(all, serviceFor("shop", name, 80))
	}
	return strings.Join(all, "\n---\n")
}

func readText(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// convertedRequests are what is asked, by host and path.
func convertedRequests() []string {
	return []string{
		"shop.example.com/", "shop.example.com/other",
		"shop.example.com/cart", "shop.example.com/cart/", "shop.example.com/cart/1",
		"shop.example.com/carton", "shop.example.com/static", "shop.example.com/static/a.css", "shop.example.com/health",
		"shop.example.com/health/x", "SHOP.example.com:8443/cart", "shop.example.com/status", "shop.example.com/admin",
		"api.example.com/v1", "api.example.com/v1/admin/x", "api.example.com/v1/administrator", "api.example.com/v2",
		"api.example.com/status", "api.example.com/admin",
		"a.example.com/", "a.example.com/admin", "a.example.com/status", "a.b.example.com/", "example.com/x",
		"elsewhere.example.org/", "elsewhere.example.org/status", "elsewhere.example.org/status/x",
		"old.example.net/app", "old.example.net/app/x", "old.example.net/application", "old.example.net/",
	}
}

// TestConvertedIngressesAnswerAlike proves that what ingress2gateway prints for Ingresses works unchanged, and that it
// gives the same answers as the Ingresses, but for the differences that docs/gateway-api.md has.
func TestConvertedIngressesAnswerAlike(t *testing.T) {
	const folder = "testdata/ingress2gateway/"
	// differ has what the routes answer in place of the Ingresses.
	const canary = "shop/cart-canary:80*20 shop/cart:80*80"
	differ := map[string]map[string]string{
		"": { // For both versions.
			// The annotations of canaries are those of ingress-nginx.
			"shop.example.com/cart/": canary, "shop.example.com/cart/1": canary,
			// The exact hostname comes before the wildcard and before rules without a host, whatever the paths are.
			"shop.example.com/admin": "shop/web:80", "shop.example.com/status": "shop/web:80",
			"a.example.com/status": "shop/tenants:80",
			// The wildcard of a Gateway has names of several labels.
			"a.b.example.com/": "shop/tenants:80",
		},
		"v0.5": {"api.example.com/status": "shop/tenants:80"},
		// Routes attach to the listener of their own hostname alone.
		"v1.1": {"api.example.com/v2": "shop/fallback:80", "api.example.com/admin": "shop/fallback:80"},
	}
	for version, ingresses := range map[string]string{
		// Before 1.0, the tool converts no path of the type ImplementationSpecific for ingress-nginx.
		"v0.5": readText(t, folder+"ingress.yaml"),
		"v1.1": readText(t, folder+"ingress.yaml") + "\n---\n" + readText(t, folder+"specific.yaml"),
	} {
		t.Run(version, func(t *testing.T) {
			objects := convertedObjects(t)
			before := worldOf(t, static.KubernetesIngress{
				IngressClass: "nginx", DisableIngressClassLookup: true, StrictPrefixMatching: true,
			}, objects, ingresses)
			after := worldOf(t, static.KubernetesIngress{}, objects, readText(t, folder+version+".yaml"))
			after.sound(t)
			if found := after.routes(t); found < 5 {
				t.Errorf("there are %d routes, want at least 5", found)
			}
			var table strings.Builder
			for _, request := range convertedRequests() {
				said := before.answer(t, "websecure", "https://"+request, nil)
				got := after.answer(t, "", "https://"+request, nil)
				plain := after.answer(t, "", "http://"+request, nil)
				fmt.Fprintf(&table, "%s: %s | %s | %s\n", request, said, got, plain)
				want := cmp.Or(differ[version][request], differ[""][request], said)
				if got != want {
					t.Errorf("%s: the Ingresses say %q, the routes %q, want %q", request, said, got, want)
				}
			}
			golden := folder + version + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(table.String()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if diff := gocmp.Diff(readText(t, golden), table.String()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", golden, diff)
			}
		})
	}
}
