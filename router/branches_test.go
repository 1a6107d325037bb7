package router

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer/sticky"
)

func failoverOf(main, fallback string, status ...string) *dynamic.Service {
	failover := &dynamic.Failover{Service: main, Fallback: fallback}
	if len(status) > 0 {
		failover.Errors = &dynamic.FailoverErrors{Status: status}
	}
	return &dynamic.Service{Failover: failover}
}

func hashedOf(names ...string) *dynamic.Service {
	return &dynamic.Service{HighestRandomWeight: &dynamic.HighestRandomWeight{
		Services: weightedOf(names...).Weighted.Services,
	}}
}

func mirroringOf(main string, percent int, mirrors ...string) *dynamic.Service {
	mirroring := &dynamic.Mirroring{Service: main}
	for _, name := range mirrors {
		mirroring.Mirrors = append(mirroring.Mirrors, dynamic.MirrorService{Name: name, Percent: percent})
	}
	return &dynamic.Service{Mirroring: mirroring}
}

func TestFaultsOfServicesOfServicesNameTheirPlace(t *testing.T) {
	negative := -1
	for name, row := range map[string]struct {
		service *dynamic.Service
		reason  string
	}{
		"no services":       {weightedOf(), "weighted.services is empty"},
		"no services, hrw":  {hashedOf(), "highestRandomWeight.services is empty"},
		"no name":           {weightedOf("a@internal", ""), "weighted.services[1] names no service"},
		"no main":           {failoverOf("", "a@internal"), "failover.service names no service"},
		"no fallback":       {failoverOf("a@internal", ""), "failover.fallback names no service"},
		"no mirrored":       {mirroringOf("", 1), "mirroring.service names no service"},
		"no mirror":         {mirroringOf("a@internal", 1, "b@internal", ""), "mirroring.mirrors[1] names no service"},
		"missing child":     {weightedOf("ghost"), `service "ghost@file" does not exist`},
		"missing hrw child": {hashedOf("ghost"), `service "ghost@file" does not exist`},
		"missing main":      {failoverOf("ghost", "a@internal"), `service "ghost@file" does not exist`},
		"missing fallback":  {failoverOf("a@internal", "ghost"), `service "ghost@file" does not exist`},
		"missing mirrored":  {mirroringOf("ghost", 1), `service "ghost@file" does not exist`},
		"missing mirror":    {mirroringOf("a@internal", 1, "ghost"), `service "ghost@file" does not exist`},
		"percent above 100": {
			mirroringOf("a@internal", 101, "b@internal"),
			"mirroring.mirrors[0]: percent 101 is not from 0 to 100",
		},
		"percent below 0": {
			mirroringOf("a@internal", -1, "b@internal"),
			"mirroring.mirrors[0]: percent -1 is not from 0 to 100",
		},
		"status": {failoverOf("a@internal", "b@internal", "500-499"), `failover.errors.status "500-499"`},
		"circle": {failoverOf("a@internal", "bad"), "refers to itself: bad@file -> bad@file"},
		"negative weight": {&dynamic.Service{Weighted: &dynamic.WeightedRoundRobin{Services: []dynamic.WeightedService{
			{Name: "a@internal", Weight: &negative},
		}}}, "weighted.services[0]: weight -1 is negative"},
		"negative hrw weight": {&dynamic.Service{HighestRandomWeight: &dynamic.HighestRandomWeight{
			Services: []dynamic.WeightedService{
				{Name: "a@internal", Weight: &negative},
			},
		}}, "highestRandomWeight.services[0]: weight -1 is negative"},
		"cookie": {&dynamic.Service{Weighted: &dynamic.WeightedRoundRobin{
			Services: []dynamic.WeightedService{{Name: "a@internal"}},
			Sticky:   &dynamic.Sticky{Cookie: &dynamic.Cookie{SameSite: "sometimes"}},
		}}, `weighted.sticky.cookie.sameSite is none of`},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.service("bad@file", row.service)
			b.router("bad@file", "Path(`/bad`)", "bad")
			b.router("good@file", "Path(`/good`)", "b@internal")
			b.all()
			b.wantVerdict(ref(dynamic.KindService, "bad@file"), dynamic.Quarantined, row.reason)
			b.wantStatus("http://x.test/bad", http.StatusServiceUnavailable)
			b.wantService("http://x.test/good", "b")
		})
	}
}

func TestErrorsWithoutAStatusAreReported(t *testing.T) {
	b := newBench(t)
	b.service("f@file", failoverOf("a@internal", "b@internal"))
	b.config.HTTP.Services.Get("f@file").Failover.Errors = &dynamic.FailoverErrors{}
	b.router("r@file", "Path(`/`)", "f")
	b.all()
	b.wantVerdict(ref(dynamic.KindService, "f@file"), dynamic.Degraded, "failover.errors lists no status")
	b.wantService("http://x.test/", "a")
}

// Every kind is built anew when a child of a child changes, and serves the one that is there now.
func TestServicesOfServicesFollowTheirChildren(t *testing.T) {
	b := newBench(t)
	one, _ := endpointServer(t, "one")
	two, _ := endpointServer(t, "two")
	b.service("w@file", weightedOf("h"))
	b.service("h@file", hashedOf("f"))
	b.service("f@file", failoverOf("m", "b@internal"))
	b.service("m@file", mirroringOf("s", 0, "b@internal"))
	b.service("s@file", balancer(one))
	b.router("r@file", "Path(`/`)", "w")
	b.all()
	b.wantService("http://x.test/", "one")
	b.service("s@file", balancer(two))
	b.apply(true, ref(dynamic.KindService, "s@file"))
	b.wantService("http://x.test/", "two")
	b.config.HTTP.Services = b.config.HTTP.Services.Without("s@file")
	b.apply(true, ref(dynamic.KindService, "s@file"))
	b.wantStatus("http://x.test/", http.StatusServiceUnavailable)
	b.wantVerdict(ref(dynamic.KindService, "w@file"), dynamic.Quarantined, `service "s@file" does not exist`)
	b.service("s@file", balancer(one))
	b.apply(true, ref(dynamic.KindService, "s@file"))
	b.wantService("http://x.test/", "one")
}

// A pool reports whether it has an endpoint, without a health check too, and all services above it use that.
func TestHealthGoesUpFromPools(t *testing.T) {
	b := newBench(t)
	_, address := endpointServer(t, "pod")
	b.service("pods@file", &dynamic.Service{
		LoadBalancer: &dynamic.ServersLoadBalancer{EndpointSet: "kubernetes/default/web:80", Scheme: "http"},
	})
	b.service("m@file", mirroringOf("pods", 100, "b@internal"))
	b.service("f@file", failoverOf("m", "a@internal"))
	b.service("w@file", weightedOf("m", "b@internal"))
	b.config.HTTP.Services.Get("w@file").Weighted.HealthCheck = &dynamic.HealthCheck{}
	b.service("blind@file", weightedOf("m"))
	b.router("f@file", "Path(`/f`)", "f")
	b.router("w@file", "Path(`/w`)", "w")
	b.router("blind@file", "Path(`/blind`)", "blind")
	b.all()
	for range 4 {
		b.wantService("http://x.test/f", "a")
		b.wantService("http://x.test/w", "b")
		b.wantStatus("http://x.test/blind", http.StatusServiceUnavailable)
	}
	explained, err := b.target.Table().Explain(Question{URL: "http://x.test/f"})
	if err != nil || explained.Status != 0 || !explained.Service.Up || explained.Service.Services[0].Up {
		t.Errorf("explained: %+v, %v; want a failover that is up over a main service that is not", explained.Service, err)
	}
	registry := b.compiler.options.Registry
	registry.Apply(dynamic.EndpointSet{
		Key: "kubernetes/default/web:80", Version: 1,
		Endpoints: []dynamic.Endpoint{{Address: address}},
	})
	for next := registry.Flush(time.Now()); !next.IsZero(); next = registry.Flush(next) {
	}
	b.wantService("http://x.test/f", "pod")
	b.wantService("http://x.test/blind", "pod")
	seen := []string{}
	for range 4 {
		_, service, _ := b.get("http://x.test/w")
		seen = append(seen, service)
	}
	slices.Sort(seen)
	if want := []string{"b", "b", "pod", "pod"}; !slices.Equal(seen, want) {
		t.Errorf("the weighted service answers with %v, want %v", seen, want)
	}
	registry.Apply(dynamic.EndpointSet{Key: "kubernetes/default/web:80", Version: 2, Endpoints: []dynamic.Endpoint{}})
	for next := registry.Flush(time.Now().Add(time.Hour)); !next.IsZero(); next = registry.Flush(next) {
	}
	b.wantService("http://x.test/f", "a")
}

func TestARebuildKeepsWhoseTurnItIs(t *testing.T) {
	b := newBench(t)
	b.router("r@file", "Path(`/`)", "w")
	count := map[string]int{}
	for i := range 100 {
		b.service("w@file", weightedOf("a@internal", "b@internal"))
		// Whatever changes in the definition, the handler is new.
		cookie := &dynamic.Cookie{Name: fmt.Sprint("c", i)}
		b.config.HTTP.Services.Get("w@file").Weighted.Sticky = &dynamic.Sticky{Cookie: cookie}
		b.apply(true, ref(dynamic.KindRouter, "r@file"), ref(dynamic.KindService, "w@file"))
		_, service, _ := b.get("http://x.test/")
		count[service]++
	}
	if count["a"] != 50 || count["b"] != 50 {
		t.Errorf("%v, want each 50 times", count)
	}
	b.config.HTTP.Services = b.config.HTTP.Services.Without("w@file")
	b.apply(true, ref(dynamic.KindService, "w@file"))
	if len(b.compiler.rotations) != 0 {
		t.Errorf("%d states are kept of services that are gone", len(b.compiler.rotations))
	}
}

// The cookie's default name comes of the service's qualified name, its value of the child's as it is listed.
func TestAStickyWeightedServiceKeepsItsClients(t *testing.T) {
	b := newBench(t)
	one, _ := endpointServer(t, "one")
	two, _ := endpointServer(t, "two")
	b.service("one@file", balancer(one))
	b.service("two@file", balancer(two))
	b.service("w@file", weightedOf("one", "two"))
	b.config.HTTP.Services.Get("w@file").Weighted.Sticky = &dynamic.Sticky{Cookie: &dynamic.Cookie{}}
	b.router("r@file", "Path(`/`)", "w")
	b.all()
	cookie, err := sticky.New("w@file", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "two"} {
		for range 3 {
			recorder := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://x.test/", http.NoBody)
			r.Header.Set("Cookie", cookie.Name()+"="+sticky.ID(name))
			b.target.Handler("web").ServeHTTP(recorder, r)
			if got := recorder.Header(); got.Get("X-Service") != name || got.Get("Set-Cookie") != "" {
				t.Errorf("with the cookie of %s: %v", name, got)
			}
		}
	}
	recorder := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://x.test/", http.NoBody)
	b.target.Handler("web").ServeHTTP(recorder, r)
	want := cookie.Set(sticky.ID(recorder.Header().Get("X-Service")), r)
	if got := recorder.Header().Get("Set-Cookie"); got != want {
		t.Errorf("Set-Cookie %q, want %q", got, want)
	}
}

// A browser keeps one of two cookies with the same name, domain and path.
func TestCookiesOfOneNameAreReported(t *testing.T) {
	root, other := "/", "/other"
	for name, row := range map[string]struct {
		inner     dynamic.Cookie
		outermost dynamic.Cookie
		mirror    bool
		warned    bool
	}{
		"same name":         {inner: dynamic.Cookie{Name: "session"}, warned: true},
		"path in words":     {inner: dynamic.Cookie{Name: "session", Path: &root, Secure: true}, warned: true},
		"another path":      {inner: dynamic.Cookie{Name: "session", Path: &other}},
		"another domain":    {inner: dynamic.Cookie{Name: "session", Domain: "x.test"}},
		"another name":      {inner: dynamic.Cookie{}},
		"far below":         {outermost: dynamic.Cookie{Name: "outer"}},
		"no client gets it": {inner: dynamic.Cookie{Name: "session"}, mirror: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			one, _ := endpointServer(t, "one")
			b.service("pool@file", balancer(one))
			b.config.HTTP.Services.Get("pool@file").LoadBalancer.Sticky = &dynamic.Sticky{Cookie: &row.inner}
			b.service("m@file", mirroringOf("pool", 1))
			if row.mirror {
				b.service("m@file", mirroringOf("a@internal", 1, "pool"))
			}
			b.service("w@file", weightedOf("m", "b@internal"))
			b.config.HTTP.Services.Get("w@file").Weighted.Sticky = &dynamic.Sticky{Cookie: &dynamic.Cookie{Name: "session"}}
			b.service("outer@file", weightedOf("w"))
			b.config.HTTP.Services.Get("outer@file").Weighted.Sticky = &dynamic.Sticky{Cookie: &dynamic.Cookie{Name: "outer"}}
			b.service("outermost@file", weightedOf("outer"))
			b.config.HTTP.Services.Get("outermost@file").Weighted.Sticky = &dynamic.Sticky{Cookie: &row.outermost}
			b.router("r@file", "Path(`/`)", "outermost")
			b.all()
			if row.outermost.Name == "outer" {
				b.wantVerdict(ref(dynamic.KindService, "outermost@file"), dynamic.Degraded,
					`"outer" is that of a service below it too`)
				return
			}
			if row.warned {
				b.wantVerdict(ref(dynamic.KindService, "w@file"), dynamic.Degraded,
					`weighted.sticky.cookie.name "session" is that of a service below it too`)
			} else if len(b.compiled.Verdicts) > 0 {
				t.Errorf("verdicts %v", b.compiled.Verdicts)
			}
		})
	}
}

func TestExplainListsTheBranchesOfEveryKind(t *testing.T) {
	b := newBench(t)
	b.service("w@file", weightedOf("h", "f", "m"))
	b.service("h@file", hashedOf("a@internal"))
	b.service("f@file", failoverOf("a@internal", "b@internal"))
	b.service("m@file", mirroringOf("a@internal", 30, "b@internal"))
	b.router("r@file", "Path(`/`)", "w")
	b.all()
	explained, err := b.target.Table().Explain(Question{URL: "http://x.test/"})
	if err != nil {
		t.Fatal(err)
	}
	internal := func(name, role string, weight, percent int) ServiceStatus {
		return ServiceStatus{Name: name, Kind: "internal", Up: true, Role: role, Weight: weight, Percent: percent}
	}
	want := ServiceStatus{Name: "w@file", Kind: "weighted", Up: true, Services: []ServiceStatus{
		{Name: "h@file", Kind: "highestRandomWeight", Up: true, Weight: 1, Services: []ServiceStatus{internal("a@internal",
			"", 1, 0)}},
		{Name: "f@file", Kind: "failover", Up: true, Weight: 1, Services: []ServiceStatus{
			internal("a@internal", "main", 0, 0), internal("b@internal", "fallback", 0, 0),
		}},
		{Name: "m@file", Kind: "mirroring", Up: true, Weight: 1, Services: []ServiceStatus{
			internal("a@internal", "main", 0, 0), internal("b@internal", "mirror", 0, 30),
		}},
	}}
	if diff := cmp.Diff(want, *explained.Service); diff != "" {
		t.Error(diff)
	}
}

// What a mirror would answer is no answer for the client.
func TestExplainCountsOnNoMirror(t *testing.T) {
	for kind, row := range map[string]struct {
		service *dynamic.Service
		status  int
	}{
		"mirroring": {mirroringOf("empty", 100, "a@internal"), http.StatusServiceUnavailable},
		"failover":  {failoverOf("empty", "a@internal"), 0},
		"both down": {failoverOf("empty", "empty"), http.StatusServiceUnavailable},
		"hrw":       {hashedOf("empty"), http.StatusServiceUnavailable},
	} {
		b := newBench(t)
		b.service("empty@file", balancer())
		b.service("s@file", row.service)
		b.router("r@file", "Path(`/`)", "s")
		b.all()
		explained, err := b.target.Table().Explain(Question{URL: "http://x.test/"})
		if err != nil || explained.Status != row.status {
			t.Errorf("%s: status %d (%s), %v; want %d", kind, explained.Status, explained.Reason, err, row.status)
		}
		if row.status != 0 {
			b.wantStatus("http://x.test/", row.status)
		}
	}
}

func TestAFailoverTurnsByTheStatusOfAPool(t *testing.T) {
	b := newBench(t)
	var status atomic.Int64
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Service", "broken")
		w.WriteHeader(int(status.Load()))
	}))
	defer broken.Close()
	refusing := netip.MustParseAddrPort("127.0.0.1:1")
	b.service("broken@file", balancer(broken.URL))
	b.service("refusing@file", balancer("http://"+refusing.String()))
	b.service("f@file", failoverOf("broken", "b@internal", "500", "503"))
	b.service("g@file", failoverOf("refusing", "b@internal", "502"))
	b.router("f@file", "Path(`/f`)", "f")
	b.router("g@file", "Path(`/g`)", "g")
	b.all()
	for code, want := range map[int]string{
		200: "200 broken", 404: "404 broken", 500: "200 b", 502: "502 broken",
		503: "200 b",
	} {
		status.Store(int64(code))
		got, service, _ := b.get("http://x.test/f")
		if text := fmt.Sprint(got, " ", service); text != want {
			t.Errorf("the endpoint answers %d: %s, want %s", code, text, want)
		}
	}
	b.wantService("http://x.test/g", "b")
}

// A router's memory is reused only if no handler of the whole chain retains a part of a request.
func TestAServiceThatKeepsRequestsKeepsTheRoutersMemory(t *testing.T) {
	b := newBench(t)
	b.service("w@file", weightedOf("m", "b@internal"))
	b.service("m@file", mirroringOf("a@internal", 100, "b@internal"))
	b.router("r@file", "Path(`/`)", "w")
	b.all()
	node := b.compiler.services["w@file"]
	if node.retains {
		t.Error("services of Sluice's own keep nothing")
	}
	for _, role := range []string{roleMain, roleMirror} {
		parent := &serviceNode{name: "p@file"}
		b.compiler.services["keeper@file"] = &serviceNode{name: "keeper@file", handler: http.NotFoundHandler(), retains: true}
		if err := b.compiler.adopt(parent, "service", branch{name: "keeper", role: role}); err != nil {
			t.Fatal(err)
		}
		if parent.retains != (role == roleMain) {
			t.Errorf("a %s that keeps requests: %v", role, parent.retains)
		}
		route := &Route{}
		route.enable(&middlewareNode{}, nil, parent)
		if route.recyclable == parent.retains {
			t.Errorf("the route of a %s that keeps requests is recyclable: %v", role, route.recyclable)
		}
	}
	if strings.Contains(fmt.Sprint(b.compiled.Verdicts), "quarantined") {
		t.Error(b.compiled.Verdicts)
	}
}

// A service that answers by itself needs no endpoint, and neither does one that leads to it.
func TestExplainOfADirectResponse(t *testing.T) {
	b := newBench(t)
	b.service("d@file", &dynamic.Service{DirectResponse: &dynamic.DirectResponse{Status: http.StatusNoContent}})
	b.service("w@file", weightedOf("d"))
	b.router("direct@file", "Path(`/d`)", "d")
	b.router("weighted@file", "Path(`/w`)", "w")
	b.all()
	for _, path := range []string{"/d", "/w"} {
		explained, err := b.target.Table().Explain(Question{URL: "http://x.test" + path})
		if err != nil || explained.Status != 0 {
			t.Errorf("%s: status %d, %s, error %v", path, explained.Status, explained.Reason, err)
		}
		if status, _, _ := b.get("http://x.test" + path); status != http.StatusNoContent {
			t.Errorf("%s: status %d", path, status)
		}
	}
}
