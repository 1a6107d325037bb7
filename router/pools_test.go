package router

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

func endpointServer(t *testing.T, name string) (url string, address netip.AddrPort) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Service", name)
	}))
	t.Cleanup(server.Close)
	return server.URL, netip.MustParseAddrPort(strings.TrimPrefix(server.URL, "http://"))
}

func balancer(urls ...string) *dynamic.Service {
	lb := &dynamic.ServersLoadBalancer{}
	lb.SetDefaults()
	for _, url := range urls {
		lb.Servers = append(lb.Servers, dynamic.Server{URL: url})
	}
	return &dynamic.Service{LoadBalancer: lb}
}

func TestAPoolKeepsItsServersUntilTheNextTableServes(t *testing.T) {
	b := newBench(t)
	one, _ := endpointServer(t, "one")
	two, _ := endpointServer(t, "two")
	b.service("s@file", balancer(one))
	b.router("r@file", "PathPrefix(`/`)", "s")
	b.all()
	b.wantService("http://x.test/", "one")
	b.service("s@file", balancer(two))
	compiled := b.compiler.Compile(Input{
		Configuration: b.config, Changed: []dynamic.Ref{ref(dynamic.KindService, "s@file")}, Final: true,
	})
	b.wantService("http://x.test/", "one")
	compiled.Activate(1)
	b.wantService("http://x.test/", "two")
}

// The second compilation supersedes the first one, whose servers were never applied and must not be for a route
// that goes on as it last served.
func TestAPoolIsNotGivenTheServersOfASupersededTable(t *testing.T) {
	b := newBench(t)
	one, _ := endpointServer(t, "one")
	b.service("s@file", balancer(one))
	b.router("r@file", "PathPrefix(`/`)", "s")
	b.all()
	changed := ref(dynamic.KindService, "s@file")
	b.service("s@file", balancer("http://never.test:81"))
	b.compile(false, changed)
	b.config.HTTP.Services = b.config.HTTP.Services.Without("s@file")
	b.apply(false, changed)
	b.wantService("http://x.test/", "one")
	b.apply(true, changed)
	b.wantStatus("http://x.test/", http.StatusServiceUnavailable)
}

func TestEndpointSetsAreNamedAndServeWithoutANewTable(t *testing.T) {
	b := newBench(t)
	_, address := endpointServer(t, "pod")
	b.service("k@file", &dynamic.Service{LoadBalancer: &dynamic.ServersLoadBalancer{
		EndpointSet: "kubernetes/default/web:80", Scheme: "http",
	}})
	b.service("n@file", balancer("http://backend.test:81"))
	b.router("r@file", "PathPrefix(`/`)", "k")
	b.all()
	named := slices.Sorted(maps.Keys(b.sets))
	if want := []string{"dns/backend.test:81", "kubernetes/default/web:80"}; !slices.Equal(named, want) {
		t.Errorf("endpoint sets %v, want %v", named, want)
	}
	b.wantStatus("http://x.test/", http.StatusServiceUnavailable)
	registry := b.compiler.options.Registry
	registry.Apply(dynamic.EndpointSet{
		Key: "kubernetes/default/web:80", Version: 1,
		Endpoints: []dynamic.Endpoint{{Address: address}},
	})
	for next := registry.Flush(time.Now()); !next.IsZero(); next = registry.Flush(next) {
	}
	b.wantService("http://x.test/", "pod")
}

func TestAServiceThatIsGoneGivesUpItsPoolAndSets(t *testing.T) {
	b := newBench(t)
	b.service("n@file", balancer("http://backend.test:81"))
	b.router("r@file", "PathPrefix(`/`)", "n")
	b.all()
	if b.compiler.pools.known["n@file"] == nil {
		t.Fatal("the service has no pool")
	}
	b.config.HTTP.Services = b.config.HTTP.Services.Without("n@file")
	gone := ref(dynamic.KindService, "n@file")
	b.apply(false, gone)
	if b.compiler.pools.known["n@file"] == nil {
		t.Error("the pool was given up while a route still serves from it")
	}
	b.apply(true)
	if b.compiler.pools.known["n@file"] != nil || len(b.sets) != 0 {
		t.Errorf("pool and sets remain: %v", b.sets)
	}
}
