package ingress

import (
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/provider/providertest"
	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/static"
)

// compiled returns the table of a configuration, and the reasons of the compiler's verdicts by router.
func compiled(t *testing.T, from *dynamic.Configuration) (*router.Table, map[string]string) {
	t.Helper()
	whole := &dynamic.Configuration{
		HTTP: &dynamic.HTTPConfiguration{
			Routers: immutable.Of(map[string]*dynamic.Router{}), Services: immutable.Of(map[string]*dynamic.Service{}),
		},
		TCP: &dynamic.TCPConfiguration{}, UDP: &dynamic.UDPConfiguration{}, TLS: &dynamic.TLSConfiguration{},
	}
	for name, one := range from.HTTP.Routers.All() {
		whole.HTTP.Routers = whole.HTTP.Routers.With(name+"@"+Name, one)
	}
	for name, one := range from.HTTP.Services.All() {
		whole.HTTP.Services = whole.HTTP.Services.With(name+"@"+Name, one)
	}
	for _, verdict := range from.Verdicts {
		verdict.Ref.Name += "@" + Name
		whole.Verdicts = append(whole.Verdicts, verdict)
	}
	entrypoints := []router.EntryPoint{{Name: "web", Port: 80, Default: true}}
	target := router.NewActiveTable(entrypoints)
	transport := &dynamic.ServersTransport{}
	transport.SetDefaults()
	compiler := router.NewCompiler(router.Options{
		EntryPoints: entrypoints, Registry: loadbalancer.NewRegistry(loadbalancer.Options{}), Transport: transport,
		RuleSyntax: "v2", // Rules of Ingresses are made in v3, whatever the default is.
	}, target)
	var changed []dynamic.Ref
	for ref := range providertest.Objects(whole) {
		changed = append(changed, ref)
	}
	made := compiler.Compile(router.Input{Configuration: whole, Changed: changed, Final: true})
	made.Activate(1)
	reasons := map[string]string{}
	for _, verdict := range made.Verdicts {
		if verdict.Ref.Kind == dynamic.KindRouter {
			reasons[verdict.Ref.Name] = verdict.Reason
		}
	}
	return target.Table(), reasons
}

// TestRequestsFindTheirRouter queries the real table.
func TestRequestsFindTheirRouter(t *testing.T) {
	for _, test := range []struct{ file, url, want string }{
		{"paths", "http://shop.example.com/exact", "shop-web-shop-example-com-exact"},
		// The longer rule comes first, as in Traefik, even where it is for more hosts.
		{"paths", "http://shop.example.com/exact/below", "shop-web-example-com"},
		{"paths", "http://shop.example.com/prefix", "shop-web-shop-example-com-prefix"},
		{"paths", "http://shop.example.com/prefixed", "shop-web-shop-example-com-prefix"},
		{"paths", "http://shop.example.com/users/%7Bid%7D", "shop-web-shop-example-com-users-id-044c3b390089a8e7049b"},
		{"paths", "http://shop.example.com/users/%7Bid%7D/x", "shop-web-shop-example-com-users-id-a642f26169cb31562b64"},
		{"paths", "http://shop.example.com/users/7", "shop-web-example-com"},
		{"paths", "http://other.example.com/x", "shop-web-example-com"},
		{"paths", "http://a.b.example.com/x", "shop-web"},
		{"paths", "http://elsewhere.example.org/anywhere", "shop-web-anywhere"},
		{"router-annotations", "http://v2-template.example.com/users/7", "shop-v2-template-v2-template-example-com-users-id-0-9"},
		{"router-annotations", "http://v2-template.example.com/users/x", ""},
		{"router-annotations", "http://a.v2.example.com/users/x", "shop-v2-wildcard-v2-example-com-users-id"},
		{"strict", "http://shop.example.com/v1", "shop-web-shop-example-com-v1"},
		{"strict", "http://shop.example.com/v1/x", "shop-web-shop-example-com-v1"},
		{"strict", "http://shop.example.com/v12", "shop-web-shop-example-com"},
		{"strict", "http://shop.example.com/v2", "shop-web-shop-example-com-v2"},
		{"strict", "http://elsewhere.example.org/v1", ""},
		{"exact", "http://shop.example.com/a", "shop-exact-shop-example-com-a"},
		{"exact", "http://shop.example.com/a/b", "shop-web-shop-example-com"},
		{"exact", "http://shop.example.com/same", "shop-exact-shop-example-com-same"},
		{"exact", "http://shop.example.com/same/", "shop-web-shop-example-com-same"},
		{"exact-strict", "http://shop.example.com/a/b", "shop-exact-shop-example-com-a-b"},
		{"exact-strict", "http://shop.example.com/a/c", "shop-web-shop-example-com-a"},
		{"exact-strict", "http://shop.example.com/a", "shop-exact-shop-example-com-a"},
		{"default", "http://a.example.com/x", "alpha-hosts-a-example-com-x"},
		{"default", "http://a.example.com/z", "alpha-hosts-a-example-com-default-backend"},
		{"default", "http://b.example.com/z", "alpha-hosts-example-com-default-backend"},
		{"hostile", "http://elsewhere.example.org/", ""},
		{"hostile", "http://shop.example.com/", ""},
		{"hostile", "http://y/", ""},
	} {
		t.Run(test.file+" "+test.url, func(t *testing.T) {
			content := readFile(t, "testdata/"+test.file+".yaml")
			cluster := newCluster()
			cluster.apply(t, content)
			table, _ := compiled(t, translated(t, cluster.provider(optionsOf(t, content))))
			answer, err := table.Explain(router.Question{Method: "GET", URL: test.url})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if answer.Router != nil {
				got = answer.Router.Name
			}
			if want := test.want; got != want && got != want+"@"+Name {
				t.Errorf("router %q answers (%s), want %q", got, answer.Reason, want)
			}
		})
	}
}

// TestTheDefaultBackendComesLast shows that even the router with the lowest priority that can be written comes first.
func TestTheDefaultBackendComesLast(t *testing.T) {
	cluster := newCluster()
	cluster.apply(t, []byte(`
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {namespace: shop, name: all, annotations: {traefik.ingress.kubernetes.io/router.priority: "-2147483647"}}
spec: {rules: [{http: {paths: [{path: /low, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {namespace: shop, name: rest}
spec: {defaultBackend: {service: {name: rest, port: {number: 80}}}}
`))
	table, _ := compiled(t, translated(t, cluster.provider(static.KubernetesIngress{})))
	for url, want := range map[string]string{"http://a.test/low": "shop-all-low", "http://a.test/else": defaultRouter} {
		answer, err := table.Explain(router.Question{Method: "GET", URL: url})
		if err != nil || answer.Router == nil || answer.Router.Name != want+"@"+Name || answer.Status != 503 {
			t.Errorf("%s: got %+v, %v, want %s, which has no Service", url, answer.Router, err, want)
		}
	}
}

// TestTheCompilerRefusesWhatIsLeftToIt shows that the compiler refuses what is not checked here.
func TestTheCompilerRefusesWhatIsLeftToIt(t *testing.T) {
	cluster := newCluster()
	cluster.apply(t, readFile(t, "testdata/router-annotations.yaml"))
	cluster.apply(t, readFile(t, "testdata/hostile.yaml"))
	_, reasons := compiled(t, translated(t, cluster.provider(static.KubernetesIngress{})))
	for name, want := range map[string]string{
		"shop-v4-v4-example-com": `ruleSyntax "v4" is neither v2 nor v3`,
		"shop-regexp-i-Path":     "rule: column 12: PathRegexp: \"/i`) || Path(`/\" is not a regular expression: unexpected )",
	} {
		if got := reasons[name+"@"+Name]; got != want {
			t.Errorf("router %s: got %q, want %q", name, got, want)
		}
	}
}
