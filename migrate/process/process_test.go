package process_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/migrate/answer"
	"github.com/sluiceproxy/sluice/migrate/nginxmodel"
	"github.com/sluiceproxy/sluice/migrate/probe"
	"github.com/sluiceproxy/sluice/migrate/process"
	"github.com/sluiceproxy/sluice/migrate/source"
	"github.com/sluiceproxy/sluice/static"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const shop = `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: shop
  namespace: web
  annotations: {nginx.ingress.kubernetes.io/rewrite-target: /$1}
spec:
  ingressClassName: nginx
  tls: [{hosts: [shop.example.com], secretName: shop}]
  rules:
  - host: shop.example.com
    http:
      paths:
      - {path: /cart/(.*), pathType: ImplementationSpecific, backend: {service: {name: cart, port: {name: web}}}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: guarded
  namespace: web
  annotations:
    nginx.ingress.kubernetes.io/auth-url: https://auth.example.com/check
    nginx.ingress.kubernetes.io/allowlist-source-range: 192.0.2.0/24
spec:
  ingressClassName: nginx
  rules:
  - host: guarded.example.com
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: inner, port: {number: 8080}}}}]}
---
`

const password = `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: password
  namespace: web
  annotations: {nginx.ingress.kubernetes.io/auth-type: basic, nginx.ingress.kubernetes.io/auth-secret: users}
spec:
  ingressClassName: nginx
  rules:
  - host: password.example.com
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: inner, port: {number: 8080}}}}]}
`

func read(t *testing.T, text string) *source.Objects {
	t.Helper()
	objects, err := source.Read(strings.NewReader(text), source.Stream)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// start starts a process that the test ends.
func start(t *testing.T, options process.Options) *process.Process {
	t.Helper()
	options.Provider.SetDefaults()
	p, err := process.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func get(scheme, host, target string, header ...string) probe.Probe {
	one := probe.Probe{Method: http.MethodGet, Scheme: scheme, Host: host, Target: target, Header: http.Header{}}
	for i := 0; i+1 < len(header); i += 2 {
		one.Header.Set(header[i], header[i+1])
	}
	return one
}

func TestAnswers(t *testing.T) {
	p := start(t, process.Options{Objects: read(t, shop+password)})
	for _, row := range []struct {
		probe probe.Probe
		want  string
	}{
		{get("http", "shop.example.com", "/cart/a"), "308"},
		{get("https", "shop.example.com", "/cart/a/b?c=d"), "200 web/cart:web GET /a/b?c=d"},
		{get("https", "shop.example.com", "/CART/a"), "200 web/cart:web GET /a"},
		{get("https", "shop.example.com", "/other"), "404"},
		{get("https", "shop.example.com", "/cart/%zz"), "400"},
		{get("http", "guarded.example.com", "/"), "401"},
		{get("http", "guarded.example.com", "/a", "Cookie", "a=b"), "200 web/inner:8080 GET /a"},
		{probe.Probe{Method: "GET", Scheme: "http", Host: "guarded.example.com", Target: "/", Client: "203.0.113.1"}, "403"},
		{get("http", "password.example.com", "/"), "401"},
		{get("http", "password.example.com", "/", "Authorization", "Basic dXNlcjp1c2Vy"), "401"},
		{get("http", "unknown.example.com", "/"), "404"},
		{probe.Probe{Method: "POST", Scheme: "http", Host: "guarded.example.com", Target: "/", Length: 1<<20 + 1}, "413"},
	} {
		got, err := p.Answer(t.Context(), row.probe)
		text := fmt.Sprint(got.Status)
		if sent := got.Upstream; sent != nil {
			text += " " + sent.Service + " " + sent.Method + " " + sent.Target
		}
		if err != nil || text != row.want {
			t.Errorf("%s is answered %q, %v; want %q", row.probe, text, err, row.want)
		}
	}
	for _, one := range p.Verdicts() {
		if one.Ref.Kind != dynamic.KindTLSStore { // Hosts without a certificate get a generated one.
			t.Errorf("a verdict: %v", one)
		}
	}
}

// TestAsTheModel compares with the model what both presume of objects that were not read.
func TestAsTheModel(t *testing.T) {
	objects := read(t, shop)
	entry := new(static.EntryPoint)
	entry.SetDefaults()
	entry.HTTP.SanitizePath = false
	p := start(t, process.Options{Objects: objects, EntryPoint: entry})
	model := nginxmodel.Build(objects, nginxmodel.Config{})
	var running sync.WaitGroup
	for _, host := range model.Hosts() {
		running.Go(func() {
			for _, one := range probe.Generate(host, probe.DefaultPerHost).Probes {
				want, err := model.Answer(t.Context(), one)
				if err != nil {
					t.Error(err)
				}
				got, err := p.Answer(t.Context(), one)
				switch malformed := want.Status == http.StatusBadRequest && got.Status == http.StatusNotFound; {
				case err != nil:
					t.Errorf("%s: %v", one, err)
				case malformed: // No router has a path that leads above the root, or that has a zero byte.
				default:
					if differences := answer.Compare(want, got); len(differences) > 0 {
						t.Errorf("%s, %s: %+v", one, one.Reason, differences)
					}
				}
			}
		})
	}
	running.Wait()
}

func TestEndpoints(t *testing.T) {
	objects := read(t, `apiVersion: v1
kind: Service
metadata: {name: two, namespace: web}
spec: {ports: [{name: web, port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: none, namespace: web}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: away, namespace: web}
spec: {type: ExternalName, externalName: away.example.com, ports: [{port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: two-1, namespace: web, labels: {kubernetes.io/service-name: two}}
addressType: IPv4
endpoints: [{addresses: [10.0.0.1]}, {addresses: [10.0.0.2]}, {addresses: [10.0.0.3], conditions: {ready: false}}]
ports: [{name: web, port: 8080}]
---
`+ingress("two")+ingress("none")+ingress("away")+ingress("missing"))
	seen, mu := map[string]bool{}, sync.Mutex{}
	p := start(t, process.Options{
		Objects: objects, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			at := process.EndpointOf(r)
			seen[fmt.Sprint(at, " ", at.Number)] = true
		}),
		Resolves: func(name string) bool { return name == "away.example.com" },
	})
	for _, host := range []string{"two", "two", "two", "two", "none", "away", "missing"} {
		got, err := p.Answer(t.Context(), get("http", host+".example.com", "/"))
		want := map[string]int{"two": 200, "away": 200}[host]
		if err != nil || got.Status != max(want, 503) && got.Status != want {
			t.Errorf("%s: %d, %v", host, got.Status, err)
		}
	}
	for _, want := range []string{"web/two:80 0", "web/two:80 1", "away.example.com:80 0"} {
		if !seen[want] {
			t.Errorf("%s is not there, of %v", want, seen)
		}
	}
}

func ingress(name string) string {
	return fmt.Sprintf(`apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: %[1]s, namespace: web}
spec:
  ingressClassName: nginx
  rules:
  - host: %[1]s.example.com
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: %[1]s, port: {number: 80}}}}]}
---
`, name)
}

func TestStartFails(t *testing.T) {
	options := process.Options{Objects: new(source.Objects)}
	options.Provider.SetDefaults()
	options.Provider.ConfigMap = "no-namespace"
	if p, err := process.Start(t.Context(), options); err == nil {
		t.Errorf("started: %v", p.Close())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	options.Provider.ConfigMap = ""
	if p, err := process.Start(ctx, options); err == nil {
		t.Errorf("started without time: %v", p.Close())
	}
}

// TestVerdictsOnce has an Ingress closed, with a router for requests without TLS and one for those with it: what is
// displayed says so once.
func TestVerdictsOnce(t *testing.T) {
	closed := strings.Replace(shop, "auth-url: https://auth.example.com/check", "auth-url: nonsense", 1)
	p := start(t, process.Options{Objects: read(t, closed)})
	count := func(verdicts []dynamic.Verdict) (n int) {
		for i := range verdicts {
			if verdicts[i].Status == dynamic.Quarantined {
				n++
			}
		}
		return n
	}
	all, distinct := p.Verdicts(), dynamic.Distinct(p.Verdicts())
	if count(all) != 2*count(distinct) || count(distinct) == 0 {
		t.Errorf("%d of %d verdicts: %v", count(distinct), count(all), all)
	}
}

// TestPassthrough has a connection with TLS end at the endpoint, which gets the request as it was sent.
func TestPassthrough(t *testing.T) {
	objects := read(t, strings.Replace(shop, "auth-url: https://auth.example.com/check", `ssl-passthrough: "true"`, 1))
	p := start(t, process.Options{Objects: objects, Provider: static.KubernetesNGINX{EnableSSLPassthrough: true}})
	got, err := p.Answer(t.Context(), probe.Probe{
		Method: http.MethodGet, Scheme: "https", Host: "guarded.example.com", Target: "/a?b",
		Header: http.Header{"X-Own": {"1"}},
	})
	if err != nil || got.Upstream == nil || got.Upstream.Service != "web/inner:8080" || got.Upstream.Target != "/a?b" ||
		got.Upstream.Header.Get("X-Own") != "1" || got.Upstream.Header.Get("X-Forwarded-For") != "" {
		t.Errorf("%+v %+v, %v, %v", got, got.Upstream, err, p.Verdicts())
	}
	// Without a path "/", connections are closed.
	closed := strings.Replace(shop, "auth-url: https://auth.example.com/check", `ssl-passthrough: "true"`, 1)
	closed = strings.Replace(closed, "{path: /, pathType: Prefix", "{path: /x, pathType: Prefix", 1)
	p = start(t, process.Options{
		Objects: read(t, closed), Provider: static.KubernetesNGINX{EnableSSLPassthrough: true},
	})
	if got, err := p.Answer(t.Context(), get("https", "guarded.example.com", "/x")); err == nil {
		t.Errorf("without a path /: %+v", got)
	}
}
