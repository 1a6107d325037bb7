package ingressnginx

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/nginx/uri"
	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/telemetry"
)

// TestAsNGINX generates Ingresses, and compares what the table answers that they become with what ingress-nginx does
// according to nginx/location: service, rewritten target and redirects, for 100,000 targets that are likely to be near
// a path.
func TestAsNGINX(t *testing.T) {
	const hosts, targets = 250, 410
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	g := &generator{Rand: rand.New(rand.NewPCG(seed, seed))}
	cluster := newCluster()
	var servers []*server
	for i := range hosts {
		host := fmt.Sprintf("h%d.example.com", i)
		sites := g.sites(host)
		for _, one := range sites {
			cluster.ingresses.put(one.ingress())
		}
		slices.SortFunc(sites, func(a, b *site) int { return Compare(a.object.ingress(), b.object.ingress()) })
		servers = append(servers, modelOf(t, host, sites))
	}
	for i := range g.services {
		cluster.services.put(&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "s" + strconv.Itoa(i)},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
		})
	}
	config := defaultConfig()
	config.IngressClass, config.WatchIngressWithoutClass = "nginx", true
	table := serve(t, translated(t, cluster.provider(config)))
	counts := map[string]int{}
	for _, server := range servers {
		for range targets {
			target := g.target(server)
			want := server.answer(target)
			got := table.answer(t, server.host, target)
			if want == "" {
				counts["refused"]++
				continue
			}
			counts[strings.Fields(want)[0][:1]]++
			if got != want {
				t.Fatalf("host %s, target %q: %q, want %q\nlocations %+v", server.host, target, got, want, server.Server)
			}
		}
	}
	if compared := hosts*targets - counts["refused"]; compared < 100_000 {
		t.Errorf("%d answers were compared", compared)
	}
	for _, kind := range []string{"s", "d", "3"} {
		if counts[kind] < hosts*targets/100 {
			t.Errorf("there are %d answers of the kind %s, which are too few to say something", counts[kind], kind)
		}
	}
}

// table answers requests as a table does, in which services answer with their names and what they were sent.
type table struct {
	http.Handler
	active *router.ActiveTable
}

// serve makes a configuration active, with services that answer with their names in place of those with endpoints.
func serve(t *testing.T, configuration *dynamic.Configuration) table {
	t.Helper()
	return serveWith(t, configuration, named)
}

// named returns a service that answers with its name.
func named(name string, _ *dynamic.Service) *dynamic.Service {
	name = strings.TrimSuffix(strings.TrimPrefix(name, "shop."), ",80")
	return &dynamic.Service{DirectResponse: &dynamic.DirectResponse{
		Status:  http.StatusOK,
		Headers: []dynamic.HeaderValue{{Name: "X-Service", Value: name}, {Name: "X-Target", Value: "$request_uri"}},
	}}
}

// serveWith makes a configuration active that the compiler accepts as a whole, with other services in place of those
// with endpoints.
func serveWith(
	t *testing.T, configuration *dynamic.Configuration,
	endpoints func(name string, service *dynamic.Service) *dynamic.Service,
) table {
	t.Helper()
	served, quarantined := activate(configuration, endpoints)
	if len(quarantined) > 0 {
		t.Fatalf("verdicts: %v", quarantined)
	}
	return served
}

// activate makes a configuration active, and returns what the compiler does not accept.
func activate(
	configuration *dynamic.Configuration, endpoints func(name string, service *dynamic.Service) *dynamic.Service,
) (table, []dynamic.Verdict) {
	builder := dynamic.NewBuilder(&dynamic.Configuration{
		HTTP: &dynamic.HTTPConfiguration{}, TLS: &dynamic.TLSConfiguration{},
	})
	closed := map[dynamic.Ref]bool{}
	for _, verdict := range configuration.Verdicts {
		if verdict.Status == dynamic.Quarantined {
			closed[verdict.Ref] = true
		}
	}
	const refusing = "closed"
	builder.Put(dynamic.Ref{Kind: dynamic.KindService, Name: refusing + "@" + Name}, &dynamic.Service{
		DirectResponse: &dynamic.DirectResponse{Status: http.StatusServiceUnavailable},
	})
	var changed []dynamic.Ref
	for ref, object := range configuration.Objects() {
		switch made := object.(type) {
		case *dynamic.Service:
			if made.LoadBalancer != nil {
				object = endpoints(ref.Name, made)
			}
		case *dynamic.Router:
			if closed[ref] {
				copied := *made
				copied.Middlewares, copied.Service = nil, refusing
				object = &copied
			}
		}
		ref.Name += "@" + Name
		builder.Put(ref, object)
		changed = append(changed, ref)
	}
	entryPoints := []router.EntryPoint{{Name: "web", Port: 80, Default: true, Policy: canonical.DefaultPolicy()}}
	active := router.NewActiveTable(entryPoints)
	compiled := router.NewCompiler(router.Options{EntryPoints: entryPoints}, active).Compile(router.Input{
		Configuration: builder.Configuration(), Changed: changed, Final: true,
	})
	var quarantined []dynamic.Verdict
	for _, verdict := range compiled.Verdicts {
		if verdict.Status == dynamic.Quarantined {
			quarantined = append(quarantined, verdict)
		}
	}
	compiled.Activate(1)
	return table{active.Handler("web"), active}, quarantined
}

// answer returns STATUS LOCATION, SERVICE TARGET, default, or the text of another status.
func (a table) answer(t *testing.T, host, target string) string {
	t.Helper()
	r := httptest.NewRequestWithContext(telemetry.WithRecord(context.Background(), &telemetry.Record{}), http.MethodGet,
		target, http.NoBody)
	r.Host = host
	recorder := httptest.NewRecorder()
	a.ServeHTTP(recorder, r)
	header := recorder.Header()
	switch {
	case recorder.Code == http.StatusNotFound && strings.HasPrefix(recorder.Body.String(), "default backend"):
		return "default"
	case header.Get("X-Service") != "":
		return header.Get("X-Service") + " " + header.Get("X-Target")
	case header.Get("Location") != "":
		return strconv.Itoa(recorder.Code) + " " + header.Get("Location")
	}
	return http.StatusText(recorder.Code)
}

// generator makes Ingresses and targets that are likely to meet.
type generator struct {
	*rand.Rand
	services int
}

func (g *generator) one(choices ...string) string { return choices[g.IntN(len(choices))] }

func (g *generator) chance(of int) bool { return g.IntN(of) == 0 }

// path is a path, often one next to another one.
func (g *generator) path(others []sitePath) string {
	path := "/"
	if len(others) > 0 && !g.chance(3) {
		path = others[g.IntN(len(others))].path
	}
	for range g.IntN(3) {
		segment := g.one("a", "b", "ab", "foo", "bar", "Foo", "v1", "a-b", "a.b", "a+b", "a b", "é", "a%", "x?y", "{a}")
		path = strings.TrimSuffix(path, "/") + "/" + segment
	}
	if g.chance(4) {
		path = strings.TrimSuffix(path, "/") + "/"
	}
	return path
}

// sites are the Ingresses of a host.
func (g *generator) sites(host string) []*site {
	var sites []*site
	var all []sitePath
	for i := range 1 + g.IntN(3) {
		one := &site{object: object{name: fmt.Sprintf("i%d-%s", i, host), age: g.IntN(3)}}
		for range 1 + g.IntN(4) {
			path := sitePath{g.one("E", "P", "P"), g.path(all), fmt.Sprintf("s%d", g.services)}
			g.services++
			all = append(all, path)
			one.paths = append(one.paths, path)
		}
		g.annotate(one)
		sites = append(sites, one)
	}
	return sites
}

// annotate chooses what a site does.
func (g *generator) annotate(one *site) {
	one.annotations = map[string]string{"ssl-redirect": "false"}
	set := func(name, value string) { one.annotations[name] = value }
	if one.regex = g.chance(8); one.regex {
		set("use-regex", "true")
	}
	if g.chance(6) {
		one.rewrite = g.one("/", "/x", "/x/$1", "/x$1/y", one.paths[0].path)
		if strings.ContainsAny(one.rewrite, " é{}%+?") {
			one.rewrite = "/x" // The annotation does not take all characters.
		}
		set("rewrite-target", one.rewrite)
	}
	if g.chance(8) {
		one.appRoot = "/start"
		set("app-root", one.appRoot)
	}
	switch g.IntN(10) {
	case 0:
		one.redirect = "https://new.example.com/"
		set("permanent-redirect", one.redirect)
	case 1:
		one.force = true
		set("force-ssl-redirect", "true")
		if one.preserve = g.chance(2); one.preserve {
			set("preserve-trailing-slash", "true")
		}
	case 2:
		one.relative = true
		set("relative-redirects", "true")
	}
}

// ingress returns the object of a site.
func (s *site) ingress() *networkingv1.Ingress {
	made := s.object.ingress()
	made.Annotations = map[string]string{}
	for name, value := range s.annotations {
		made.Annotations["nginx.ingress.kubernetes.io/"+name] = value
	}
	_, host, _ := strings.Cut(s.name, "-")
	rule := networkingv1.IngressRule{Host: host}
	rule.HTTP = &networkingv1.HTTPIngressRuleValue{}
	for _, path := range s.paths {
		kind := map[string]networkingv1.PathType{"E": networkingv1.PathTypeExact, "P": networkingv1.PathTypePrefix}[path.kind]
		rule.HTTP.Paths = append(rule.HTTP.Paths, networkingv1.HTTPIngressPath{
			Path: path.path, PathType: &kind, Backend: backendOf(path.service),
		})
	}
	made.Spec.Rules = []networkingv1.IngressRule{rule}
	return made
}

// target is a target that a client may send, near to the locations of a server.
func (g *generator) target(s *server) string {
	for {
		names := []string{"/"}
		for _, one := range s.of {
			names = append(names, one.name)
		}
		slices.Sort(names)
		target := uri.Escape(g.one(names...))
		for range g.IntN(4) {
			target = cmp.Or(g.changed(target), "/")
		}
		if g.chance(6) {
			target += g.one("?", "?q=1", "?a=%2F//..", "?/")
		}
		if parsed, err := url.ParseRequestURI(target); err == nil && parsed.RequestURI() == target &&
			strings.HasPrefix(target, "/") && !strings.HasPrefix(target, "//") {
			return target
		}
	}
}

// changed changes a target at one place.
func (g *generator) changed(target string) string {
	at := 1 + g.IntN(max(1, len(target)))
	at = min(at, len(target))
	before, after := target[:at], target[at:]
	switch g.IntN(8) {
	case 0:
		return before + g.one("/", "//", "/./", "/../", "/x/..", "/.", "/..", "%2F", "%2f%2F", "/%2e/", "/.%2E/") + after
	case 1:
		return before + g.one("a", "B", ".", "..", "+", ";", "%20", "%41", "%c3%A9", "%25", "%3f", "%23") + after
	case 2:
		return before[:at-1] + after
	case 3:
		return before + strings.ToUpper(after)
	case 4:
		return before
	case 5:
		return strings.TrimSuffix(target, "/")
	case 6:
		return strings.ToLower(target)
	}
	return target + "/"
}
