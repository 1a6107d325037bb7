package router

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
	"github.com/sluiceproxy/sluice/loadbalancer"
)

// bench is a compiler with entrypoints web (default) and websecure, and an internal service that names itself.
type bench struct {
	t        testing.TB
	compiler *Compiler
	target   *ActiveTable
	config   *dynamic.Configuration
	compiled Compiled
	sets     map[string]bool // named by services
}

func newBench(t testing.TB) *bench {
	t.Helper()
	entrypoints := []EntryPoint{
		{Name: "web", Port: 80, Default: true, Policy: canonical.DefaultPolicy()},
		{Name: "websecure", Port: 443, Policy: canonical.DefaultPolicy()},
	}
	named := func(name string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Service", name)
			_, _ = w.Write([]byte(r.URL.Path))
		})
	}
	options := Options{
		EntryPoints: entrypoints,
		Precedence:  []string{"docker", "file"},
		Registry:    loadbalancer.NewRegistry(loadbalancer.Options{}),
		Internal:    map[string]http.Handler{"a@internal": named("a"), "b@internal": named("b")},
		Transport:   defaultTransport(),
		Tickets:     certificate.NewTickets(),
	}
	b := &bench{t: t, target: NewActiveTable(entrypoints), sets: map[string]bool{}}
	b.compiler = NewCompiler(options, b.target)
	b.config = &dynamic.Configuration{
		HTTP: &dynamic.HTTPConfiguration{
			Routers:           immutable.Of(map[string]*dynamic.Router{}),
			Services:          immutable.Of(map[string]*dynamic.Service{}),
			Middlewares:       immutable.Of(map[string]*dynamic.Middleware{}),
			ServersTransports: immutable.Of(map[string]*dynamic.ServersTransport{}),
		},
		TLS: &dynamic.TLSConfiguration{Options: immutable.Of(map[string]*dynamic.TLSOptions{})},
	}
	return b
}

func defaultTransport() *dynamic.ServersTransport {
	transport := &dynamic.ServersTransport{}
	transport.SetDefaults()
	return transport
}

func ref(kind dynamic.Kind, name string) dynamic.Ref { return dynamic.Ref{Kind: kind, Name: name} }

// apply compiles and activates; changed names what differs from the last call.
func (b *bench) apply(settled bool, changed ...dynamic.Ref) {
	b.t.Helper()
	b.compile(settled, changed...)
	b.compiled.Activate(1)
}

// compile compiles, and follows which endpoint sets services name.
func (b *bench) compile(settled bool, changed ...dynamic.Ref) {
	b.t.Helper()
	b.compiled = b.compiler.Compile(Input{Configuration: b.config, Changed: changed, Final: settled})
	for _, key := range b.compiled.AddedEndpointSets {
		if b.sets[key] {
			b.t.Errorf("endpoint set %s is added again", key)
		}
		b.sets[key] = true
	}
	for _, key := range b.compiled.RemovedEndpointSets {
		if !b.sets[key] {
			b.t.Errorf("endpoint set %s is removed and was not there", key)
		}
		delete(b.sets, key)
	}
}

// all compiles with every object named as changed.
func (b *bench) all() {
	b.t.Helper()
	var changed []dynamic.Ref
	for ref := range b.config.Objects() {
		changed = append(changed, ref)
	}
	b.apply(true, changed...)
}

func (b *bench) router(name, rule, service string, middlewares ...string) *dynamic.Router {
	declared := &dynamic.Router{Rule: rule, Service: service, Middlewares: middlewares}
	b.config.HTTP.Routers = b.config.HTTP.Routers.With(name, declared)
	return declared
}

func (b *bench) service(name string, declared *dynamic.Service) {
	b.config.HTTP.Services = b.config.HTTP.Services.With(name, declared)
}

func (b *bench) middleware(name string, declared *dynamic.Middleware) {
	b.config.HTTP.Middlewares = b.config.HTTP.Middlewares.With(name, declared)
}

// get returns the status and the internal service that answered on entrypoint web.
func (b *bench) get(target string) (int, string, string) {
	b.t.Helper()
	recorder := httptest.NewRecorder()
	b.target.Handler("web").ServeHTTP(recorder, httptest.NewRequestWithContext(b.t.Context(), http.MethodGet, target,
		http.NoBody))
	return recorder.Code, recorder.Header().Get("X-Service"), recorder.Body.String()
}

func (b *bench) wantService(target, service string) {
	b.t.Helper()
	if code, got, _ := b.get(target); code != http.StatusOK || got != service {
		b.t.Errorf("GET %s: status %d from service %q, want 200 from %q", target, code, got, service)
	}
}

func (b *bench) wantStatus(target string, status int) {
	b.t.Helper()
	if code, _, _ := b.get(target); code != status {
		b.t.Errorf("GET %s: status %d, want %d", target, code, status)
	}
}

func (b *bench) wantVerdict(of dynamic.Ref, status dynamic.Status, reason string) {
	b.t.Helper()
	for _, verdict := range append(b.compiled.Verdicts, b.config.Verdicts...) {
		if verdict.Ref == of {
			if verdict.Status != status || !strings.Contains(verdict.Reason, reason) {
				b.t.Errorf("verdict on %s: %s, %q; want %s with %q", of, verdict.Status, verdict.Reason, status, reason)
			}
			return
		}
	}
	b.t.Errorf("no verdict on %s; want %s with %q", of, status, reason)
}

func TestRoutesByRuleAndPriority(t *testing.T) {
	b := newBench(t)
	b.router("short@file", "Host(`x.test`)", "a@internal")
	b.router("long@file", "Host(`x.test`) && PathPrefix(`/api`)", "b@internal")
	b.router("raised@file", "PathPrefix(`/top`)", "a@internal").Priority = 1000
	b.all()
	b.wantService("http://x.test/", "a")
	b.wantService("http://x.test/api/1", "b")
	b.wantService("http://x.test/top", "a")
	b.wantStatus("http://y.test/", http.StatusNotFound)
	if len(b.compiled.Verdicts) != 0 {
		t.Errorf("verdicts on a good configuration: %v", b.compiled.Verdicts)
	}
}

func TestEqualPriorityIsDecidedByProviderThenName(t *testing.T) {
	b := newBench(t)
	b.router("a@file", "PathPrefix(`/`)", "a@internal")
	b.router("z@docker", "PathPrefix(`/`)", "b@internal")
	b.all()
	b.wantService("http://x.test/", "b")
	if routes := b.target.Table().Routes(); routes[0].Name != "z@docker" {
		t.Errorf("the first router that is listed is %s, want the one that is evaluated first", routes[0].Name)
	}

	b = newBench(t)
	b.router("b@file", "PathPrefix(`/`)", "b@internal")
	b.router("a@file", "PathPrefix(`/`)", "a@internal")
	b.all()
	b.wantService("http://x.test/", "a")
}

func TestMiddlewaresApplyInOrderThroughChains(t *testing.T) {
	b := newBench(t)
	b.middleware("one@file", &dynamic.Middleware{AddPrefix: &dynamic.AddPrefix{Prefix: "/one"}})
	b.middleware("two@file", &dynamic.Middleware{AddPrefix: &dynamic.AddPrefix{Prefix: "/two"}})
	b.middleware("both@file", &dynamic.Middleware{Chain: &dynamic.Chain{Middlewares: []string{"one", "two@file"}}})
	b.router("r@file", "Host(`x.test`)", "a@internal", "both")
	b.all()
	if _, _, path := b.get("http://x.test/p"); path != "/two/one/p" {
		t.Errorf("path behind the chain is %q, want /two/one/p", path)
	}
}

// faultCase is a mistake in an object called bad@file.
type faultCase struct {
	declare func(b *bench)
	on      dynamic.Ref
	reason  string
	// status is what the router bad@file, on path /bad, answers: 503 keeps its place, 200 is the router below.
	status int
}

func broken(kind dynamic.Kind) dynamic.Ref { return ref(kind, "bad@file") }

func referenceFaults() map[string]faultCase {
	return map[string]faultCase{
		"unknown matcher": {
			func(b *bench) { b.router("bad@file", "Hots(`x.test`)", "a@internal") },
			broken(dynamic.KindRouter), "Host", http.StatusOK,
		},
		"unbalanced rule": {
			func(b *bench) { b.router("bad@file", "(Path(`/bad`)", "a@internal") },
			broken(dynamic.KindRouter), "", http.StatusOK,
		},
		"v2 rule": {
			func(b *bench) { b.router("bad@file", "Path(`/bad`, `/worse`)", "a@internal") },
			broken(dynamic.KindRouter), "Path(`/bad`) || Path(`/worse`)", http.StatusOK,
		},
		"ruleSyntax v2": {
			func(b *bench) { b.router("bad@file", "PathRegexp(`/bad`)", "a@internal").RuleSyntax = "v2" },
			broken(dynamic.KindRouter), "set ruleSyntax: v3", http.StatusOK,
		},
		"a rule within another router": {
			func(b *bench) { b.router("bad@file", "Path(`/bad`)", "a@internal").ParentRefs = []string{"good"} },
			broken(dynamic.KindRouter), "parentRefs is not supported yet", http.StatusOK,
		},
		"missing service": {
			func(b *bench) { b.router("bad@file", "Path(`/bad`)", "none") },
			broken(dynamic.KindRouter), `service "none@file" does not exist`, http.StatusServiceUnavailable,
		},
		"no service": {
			func(b *bench) { b.router("bad@file", "Path(`/bad`)", "") },
			broken(dynamic.KindRouter), "the service is missing", http.StatusServiceUnavailable,
		},
		"missing middleware": {
			func(b *bench) { b.router("bad@file", "Path(`/bad`)", "a@internal", "none") },
			broken(dynamic.KindRouter), `middleware "none@file" does not exist`, http.StatusServiceUnavailable,
		},
		"recursive middlewares": {
			func(b *bench) {
				b.middleware("bad@file", &dynamic.Middleware{Chain: &dynamic.Chain{Middlewares: []string{"worse"}}})
				b.middleware("worse@file", &dynamic.Middleware{Chain: &dynamic.Chain{Middlewares: []string{"bad"}}})
				b.router("bad@file", "Path(`/bad`)", "a@internal", "bad")
			},
			broken(dynamic.KindMiddleware), "refers to itself", http.StatusServiceUnavailable,
		},
	}
}

func objectFaults() map[string]faultCase {
	return map[string]faultCase{
		"two service kinds": {
			func(b *bench) {
				b.service("bad@file", &dynamic.Service{
					LoadBalancer: &dynamic.ServersLoadBalancer{}, Weighted: &dynamic.WeightedRoundRobin{},
				})
				b.router("bad@file", "Path(`/bad`)", "bad")
			},
			broken(dynamic.KindService), "exactly one", http.StatusServiceUnavailable,
		},
		"service without children": {
			func(b *bench) {
				b.service("bad@file", &dynamic.Service{Mirroring: &dynamic.Mirroring{Service: "ghost"}})
				b.router("bad@file", "Path(`/bad`)", "bad")
			},
			broken(dynamic.KindService), `service "ghost@file" does not exist`, http.StatusServiceUnavailable,
		},
		"bad URL": {
			func(b *bench) {
				b.service("bad@file", &dynamic.Service{LoadBalancer: &dynamic.ServersLoadBalancer{
					Servers: []dynamic.Server{{URL: "ftp://x.test"}},
				}})
				b.router("bad@file", "Path(`/bad`)", "bad")
			},
			broken(dynamic.KindService), "ftp", http.StatusServiceUnavailable,
		},
		"unsupported middleware": {
			func(b *bench) {
				b.middleware("bad@file", &dynamic.Middleware{Plugin: map[string]map[string]any{"p": {}}})
				b.router("bad@file", "Path(`/bad`)", "a@internal", "bad")
			},
			broken(dynamic.KindMiddleware), "not supported yet", http.StatusServiceUnavailable,
		},
		"refused by its provider": {
			func(b *bench) {
				b.router("bad@file", "Path(`/bad`)", "a@internal")
				b.config.Verdicts = []dynamic.Verdict{{
					Ref: broken(dynamic.KindRouter), Status: dynamic.Quarantined, Reason: `unknown option "rul"`,
				}}
			},
			broken(dynamic.KindRouter), "rul", http.StatusServiceUnavailable,
		},
		"missing TLS options": {
			func(b *bench) {
				b.router("bad@file", "Path(`/bad`)", "a@internal").TLS = &dynamic.RouterTLS{Options: "none"}
			},
			broken(dynamic.KindRouter), `tlsOptions "none@file" does not exist`, http.StatusOK,
		},
		"priority of internal routers": {
			func(b *bench) { b.router("bad@file", "Path(`/bad`)", "a@internal").Priority = maxPriority + 1 },
			broken(dynamic.KindRouter), "priority", http.StatusServiceUnavailable,
		},
		"unknown entrypoint": {
			func(b *bench) { b.router("bad@file", "Path(`/bad`)", "a@internal").EntryPoints = []string{"wbe"} },
			broken(dynamic.KindRouter), `"wbe"`, http.StatusOK,
		},
	}
}

func TestFaultsQuarantineOnlyTheirObject(t *testing.T) {
	cases := referenceFaults()
	maps.Copy(cases, objectFaults())
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.router("good@file", "PathPrefix(`/`)", "b@internal").Priority = 1
			test.declare(b)
			b.all()
			b.wantVerdict(test.on, dynamic.Quarantined, test.reason)
			b.wantService("http://x.test/good", "b")
			b.wantStatus("http://x.test/bad", test.status)
		})
	}
}

func TestAnUnsettledConfigurationKeepsTheLastGoodRoute(t *testing.T) {
	b := newBench(t)
	b.middleware("m@file", &dynamic.Middleware{AddPrefix: &dynamic.AddPrefix{Prefix: "/m"}})
	b.router("r@file", "Host(`x.test`)", "a@internal", "m")
	b.all()
	b.config.HTTP.Middlewares = b.config.HTTP.Middlewares.Without("m@file")
	gone := ref(dynamic.KindMiddleware, "m@file")
	b.apply(false, gone)
	b.wantService("http://x.test/", "a")
	b.wantVerdict(ref(dynamic.KindRouter, "r@file"), dynamic.Quarantined, "does not exist")
	if len(b.compiled.StaleRoutes) == 0 {
		t.Error("no verdict says that the table has kept a handler")
	}
	b.apply(true)
	if len(b.compiled.StaleRoutes) > 0 {
		t.Error("a settled table is said to have kept a handler")
	}
	b.wantStatus("http://x.test/", http.StatusServiceUnavailable)
	b.middleware("m@file", &dynamic.Middleware{AddPrefix: &dynamic.AddPrefix{Prefix: "/n"}})
	b.apply(false, gone)
	if code, _, path := b.get("http://x.test/"); code != http.StatusOK || path != "/n/" {
		t.Errorf("after the middleware came back: %d %q, want 200 /n/", code, path)
	}
	if len(b.compiled.Verdicts) != 0 {
		t.Errorf("verdicts remain: %v", b.compiled.Verdicts)
	}
}

func TestUnchangedRoutersKeepTheirHandler(t *testing.T) {
	b := newBench(t)
	b.router("kept@file", "Host(`kept.test`)", "a@internal")
	b.router("changed@file", "Host(`x.test`)", "a@internal")
	b.all()
	before := b.compiler.routers["kept@file"]
	b.router("changed@file", "Host(`x.test`)", "b@internal")
	b.apply(true, ref(dynamic.KindRouter, "changed@file"))
	if b.compiler.routers["kept@file"] != before {
		t.Error("an unchanged router was compiled again")
	}
	b.wantService("http://x.test/", "b")
	b.config.HTTP.Routers = b.config.HTTP.Routers.Without("changed@file")
	b.apply(true, ref(dynamic.KindRouter, "changed@file"))
	b.wantStatus("http://x.test/", http.StatusNotFound)
}

func TestAWeightedServiceSplitsByWeight(t *testing.T) {
	b := newBench(t)
	three, one := 3, 1
	b.service("w@file", &dynamic.Service{Weighted: &dynamic.WeightedRoundRobin{
		Services: []dynamic.WeightedService{{Name: "a@internal", Weight: &three}, {Name: "b@internal", Weight: &one}},
	}})
	b.router("r@file", "Host(`x.test`)", "w")
	b.all()
	counts := map[string]int{}
	for range 40 {
		_, service, _ := b.get("http://x.test/")
		counts[service]++
	}
	if counts["a"] != 30 || counts["b"] != 10 {
		t.Errorf("40 requests by weights 3 and 1 went %v, want a:30 b:10", counts)
	}
}

func TestExplainNamesTheRouterAndTheRunnersUp(t *testing.T) {
	b := newBench(t)
	b.middleware("m@file", &dynamic.Middleware{AddPrefix: &dynamic.AddPrefix{Prefix: "/m"}})
	b.router("api@file", "Host(`x.test`) && PathPrefix(`/api`)", "a@internal", "m")
	b.router("post@file", "Host(`x.test`) && PathPrefix(`/api`) && Method(`POST`)", "b@internal")
	b.router("rest@file", "Host(`x.test`)", "b@internal")
	b.all()
	answer, err := b.target.Table().Explain(Question{Method: http.MethodGet, URL: "http://x.test/api//1"})
	if err != nil {
		t.Fatal(err)
	}
	if answer.Router == nil || answer.Router.Name != "api@file" || answer.Path != "/api/1" {
		t.Fatalf("explanation: %+v", answer)
	}
	if len(answer.Middlewares) != 1 || answer.Service == nil || answer.Service.Name != "a@internal" {
		t.Errorf("way of the request: %v, %+v", answer.Middlewares, answer.Service)
	}
	if len(answer.Next) != 2 || answer.Next[0].Name != "post@file" || answer.Next[0].Matches || !answer.Next[1].Matches {
		t.Errorf("runners-up: %+v", answer.Next)
	}
	nobody, err := b.target.Table().Explain(Question{Method: http.MethodGet, URL: "http://y.test/"})
	if err != nil || nobody.Status != http.StatusNotFound || len(nobody.Next) != 3 {
		t.Errorf("a request for an unknown host: %+v, %v", nobody, err)
	}
}

func TestPrecedenceIgnoresTheCaseOfProviders(t *testing.T) {
	b := newBench(t)
	b.compiler.options.Precedence = []string{"Docker", "File"}
	b.router("a@file", "PathPrefix(`/`)", "a@internal")
	b.router("z@docker", "PathPrefix(`/`)", "b@internal")
	b.all()
	b.wantService("http://x.test/", "b")
}
