package api

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/telemetry"
)

// requests are the paths that the sample answers, by the name of the golden file.
func requests() map[string]string {
	return map[string]string{
		"routers":          "/api/http/routers",
		"router":           "/api/http/routers/Admin%2Fapi@file",
		"services":         "/api/http/services",
		"service":          "/api/http/services/shop@file",
		"middlewares":      "/api/http/middlewares",
		"middleware":       "/api/http/middlewares/auth%40file",
		"tcp-routers":      "/api/tcp/routers",
		"tcp-router":       "/api/tcp/routers/db@file",
		"tcp-services":     "/api/tcp/services",
		"tcp-service":      "/api/tcp/services/live@docker",
		"tcp-middlewares":  "/api/tcp/middlewares",
		"tcp-middleware":   "/api/tcp/middlewares/few@file",
		"udp-routers":      "/api/udp/routers",
		"udp-router":       "/api/udp/routers/dns@file",
		"udp-services":     "/api/udp/services",
		"udp-service":      "/api/udp/services/dns@file",
		"rawdata":          "/api/rawdata",
		"overview":         "/api/overview",
		"version":          "/api/version",
		"entrypoints":      "/api/entrypoints",
		"entrypoint":       "/api/entrypoints/dns%2Fone",
		"no-listeners":     "/api/listeners",
		"certificates":     "/api/certificates",
		"verdicts":         "/api/verdicts",
		"connections":      "/api/connections",
		"verdicts-routers": "/api/verdicts?kind=ROUTER&status=quarantined&search=nowhere",
	}
}

func TestAnswersAreTraefiks(t *testing.T) {
	handler := New(sampleOptions())
	for name, target := range requests() {
		t.Run(name, func(t *testing.T) {
			answer := ask(t, handler, http.MethodGet, target)
			if answer.Code != http.StatusOK {
				t.Fatalf("status = %d %s", answer.Code, answer.Body)
			}
			if strings.Contains(answer.Body.String(), secret) {
				t.Errorf("the secret is shown: %s", answer.Body)
			}
			golden(t, name, answer.Body.Bytes())
		})
	}
}

func TestLists(t *testing.T) {
	handler := New(sampleOptions())
	const routers, services, middlewares = "/api/http/routers", "/api/http/services", "/api/http/middlewares"
	const streams = "/api/tcp/routers"
	tests := []struct{ target, want, next, total string }{
		{routers, "Admin/api@file blog@docker health@internal missing@docker shop@file", "1", "5"},
		{routers + "?direction=desc", "shop@file missing@docker health@internal blog@docker Admin/api@file", "1", "5"},
		{routers + "?per_page=2", "Admin/api@file blog@docker", "2", "5"},
		{routers + "?per_page=2&page=2", "health@internal missing@docker", "3", "5"},
		{routers + "?per_page=2&page=3", "shop@file", "1", "5"},
		{routers + "?per_page=5", "Admin/api@file blog@docker health@internal missing@docker shop@file", "1", "5"},
		{routers + "?search=PATHPREFIX", "Admin/api@file health@internal", "1", "2"},
		{routers + "?search=NOWHERE", "missing@docker", "1", "1"},
		{routers + "?search=nothing+like+it", "", "1", "0"},
		{routers + "?status=disabled", "missing@docker", "1", "1"},
		{routers + "?status=Warning", "blog@docker", "1", "1"},
		{routers + "?status=enabled&search=@file", "Admin/api@file shop@file", "1", "2"},
		{routers + "?serviceName=shop@file", "shop@file", "1", "1"},
		{routers + "?serviceName=shop", "shop@file", "1", "1"},
		{routers + "?serviceName=shop@docker", "", "1", "0"},
		{routers + "?middlewareName=limit@docker", "missing@docker shop@file", "1", "2"},
		{routers + "?middlewareName=auth", "shop@file", "1", "1"},
		{routers + "?middlewareName=auth@docker", "", "1", "0"},
		{
			routers + "?sortBy=priority&direction=desc", "health@internal Admin/api@file missing@docker shop@file blog@docker",
			"1", "5",
		},
		{routers + "?sortBy=priority", "blog@docker shop@file missing@docker Admin/api@file health@internal", "1", "5"},
		{routers + "?sortBy=provider", "blog@docker missing@docker Admin/api@file shop@file health@internal", "1", "5"},
		{routers + "?sortBy=status", "missing@docker Admin/api@file health@internal shop@file blog@docker", "1", "5"},
		{routers + "?sortBy=rule&per_page=2", "Admin/api@file blog@docker", "2", "5"},
		{routers + "?sortBy=service", "Admin/api@file blog@docker missing@docker health@internal shop@file", "1", "5"},
		{routers + "?sortBy=relevance&search=S", "shop@file missing@docker Admin/api@file blog@docker", "1", "4"},
		{routers + "?sortBy=relevance&search=d", "blog@docker missing@docker Admin/api@file", "1", "3"},
		{routers + "?sortBy=entryPoints", "health@internal shop@file Admin/api@file blog@docker missing@docker", "1", "5"},
		{services, "api@internal blog@docker dashboard@internal noop@internal ping@internal prometheus@internal " +
			"shop@file split@file", "1", "8"},
		{services + "?sortBy=servers&direction=desc&per_page=2", "blog@docker shop@file", "2", "8"},
		{services + "?sortBy=type&direction=desc&per_page=3", "split@file shop@file blog@docker", "2", "8"},
		{services + "?sortBy=nothing&per_page=1", "api@internal", "2", "8"},
		{middlewares + "?sortBy=type", "auth@file demo@file pages@file limit@docker", "1", "4"},
		{middlewares + "?status=disabled", "demo@file", "1", "1"},
		{streams, "all@docker db@file pass@file", "1", "3"},
		{streams + "?status=disabled", "db@file", "1", "1"},
		{streams + "?sortBy=provider&direction=desc", "pass@file db@file all@docker", "1", "3"},
		{streams + "?sortBy=priority", "all@docker pass@file db@file", "1", "3"},
		{streams + "?sortBy=rule", "all@docker pass@file db@file", "1", "3"},
		{streams + "?sortBy=service", "pass@file db@file all@docker", "1", "3"},
		{streams + "?sortBy=entryPoints", "pass@file all@docker db@file", "1", "3"},
		{streams + "?search=A.TEST", "pass@file", "1", "1"},
		{streams + "?search=nowhere", "db@file", "1", "1"},
		{streams + "?serviceName=shop@file", "all@docker", "1", "1"},
		{streams + "?serviceName=nowhere", "db@file", "1", "1"},
		{streams + "?middlewareName=office@file", "pass@file", "1", "1"},
		{streams + "?middlewareName=office@docker", "", "1", "0"},
		{"/api/tcp/services?sortBy=servers&direction=desc", "live@docker shop@file split@file", "1", "3"},
		{"/api/tcp/services?sortBy=type&direction=desc&per_page=1", "split@file", "2", "3"},
		{"/api/tcp/middlewares?sortBy=type", "few@file office@file old@file", "1", "3"},
		{"/api/tcp/middlewares?status=warning", "old@file", "1", "1"},
		{"/api/udp/routers?serviceName=dns@file", "dns@file", "1", "1"},
		{"/api/udp/routers?sortBy=service&direction=desc", "gone@file dns@file", "1", "2"},
		{"/api/udp/routers?sortBy=entryPoints&status=warning", "dns@file", "1", "1"},
		{"/api/udp/services?sortBy=servers", "split@file dns@file", "1", "2"},
		{"/api/udp/services?sortBy=type&search=S", "dns@file split@file", "1", "2"},
		{"/api/entrypoints?per_page=2&page=2", "web websecure", "1", "4"},
		{"/api/verdicts?per_page=1", "demo@file", "2", "7"},
		{"/api/verdicts?status=warning", "blog@docker missing@docker old@file dns@file", "1", "4"},
		{"/api/verdicts?status=disabled&provider=file", "demo@file db@file", "1", "2"},
		{"/api/verdicts?search=F.YAML:7&kind=tcpRouter", "db@file", "1", "1"},
		{"/api/verdicts?code=unsupportedOption", "demo@file", "1", "1"},
		{"/api/verdicts?code=MissingService&status=degraded", "blog@docker missing@docker", "1", "2"},
	}
	for _, test := range tests {
		t.Run(test.target, func(t *testing.T) {
			got, header := names(t, handler, test.target)
			if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
			if next, total := header.Get("X-Next-Page"), header.Get("X-Total-Count"); next != test.next || total != test.total {
				t.Errorf("X-Next-Page = %q, X-Total-Count = %q, want %q and %q", next, total, test.next, test.total)
			}
		})
	}
}

func TestWrongQuestions(t *testing.T) {
	handler := New(sampleOptions())
	const far = "9223372036854775807"
	tests := []struct {
		target string
		status int
		body   string
	}{
		{"/api/http/routers?page=0", 400, "invalid request: page is not a number of at least 1"},
		{"/api/http/routers?page=x", 400, "invalid request: page is not a number of at least 1"},
		{"/api/http/routers?per_page=-1", 400, "invalid request: per_page is not a number of at least 1"},
		{"/api/http/routers?page=2", 400, "invalid request: page: 2, per_page: 100"},
		{"/api/http/routers?page=" + far + "&per_page=" + far, 400, "invalid request: page: " + far + ", per_page: " + far},
		{"/api/udp/routers?page=2", 400, "invalid request: page: 2, per_page: 100"},
		{"/api/verdicts?page=2", 400, "invalid request: page: 2, per_page: 100"},
		{"/api/verdicts?status=broken", 400, `query: status "broken" is none of quarantined, disabled, retained, degraded, warning`},
		{"/api/http/routers?page=%zz", 400, `query: invalid URL escape "%zz"`},
		{"/api/http/routers/none@file", 404, "router not found: none@file"},
		{"/api/http/services/a%2Fb@file", 404, "service not found: a/b@file"},
		{"/api/http/middlewares/none@file", 404, "middleware not found: none@file"},
		{"/api/udp/services/none@file", 404, "service not found: none@file"},
		{"/api/entrypoints/none", 404, "entry point not found: none"},
		{"/api/certificates/none", 404, "certificate not found: none"},
	}
	for _, test := range tests {
		t.Run(test.target, func(t *testing.T) {
			answer := ask(t, handler, http.MethodGet, test.target)
			if answer.Code != test.status {
				t.Errorf("status = %d, want %d", answer.Code, test.status)
			}
			if want := fmt.Sprintf("{%q:%q}\n", "message", test.body); answer.Body.String() != want {
				t.Errorf("body = %s, want %s", answer.Body, want)
			}
		})
	}
}

// moving is a State that changes.
type moving struct{ state *pipeline.State }

func (m *moving) State() *pipeline.State { return m.state }

func TestListsFollowTheState(t *testing.T) {
	state := &moving{}
	options := sampleOptions()
	options.State = state
	handler := New(options)
	if got, _ := names(t, handler, "/api/http/routers"); len(got) != 0 {
		t.Errorf("before the first state: %v", got)
	}
	state.state = sampleState()
	if got, _ := names(t, handler, "/api/http/routers?status=disabled"); len(got) != 1 {
		t.Errorf("with the first state: %v", got)
	}
	again := *state.state
	again.Verdicts = nil
	state.state = &again
	if got, _ := names(t, handler, "/api/http/routers?status=disabled"); len(got) != 0 {
		t.Errorf("without verdicts: %v", got)
	}
	more := again
	http := *again.Configuration.HTTP
	http.Routers = immutable.Of(map[string]*dynamic.Router{"new@file": {}})
	more.Configuration = &dynamic.Configuration{HTTP: &http}
	state.state = &more
	if got, _ := names(t, handler, "/api/http/routers"); len(got) != 1 || got[0] != "new@file" {
		t.Errorf("with another configuration: %v", got)
	}
}

// crowd is a state with many routers, each with a service of its own.
func crowd(count int) *pipeline.State {
	http := &dynamic.HTTPConfiguration{
		Routers: immutable.Of(map[string]*dynamic.Router{}), Services: immutable.Of(map[string]*dynamic.Service{}),
	}
	for i := range count {
		name := "router-" + strconv.Itoa(i) + "@kubernetescrd"
		http.Routers = http.Routers.With(name, &dynamic.Router{
			Rule:    "Host(`host-" + strconv.Itoa(i) + ".example.com`) && PathPrefix(`/api`)",
			Service: name, EntryPoints: []string{"web"},
		})
		http.Services = http.Services.With(name, &dynamic.Service{
			LoadBalancer: &dynamic.ServersLoadBalancer{EndpointSet: name},
		})
	}
	return &pipeline.State{Configuration: &dynamic.Configuration{HTTP: http}}
}

func TestTheViewIsMadeOnce(t *testing.T) {
	state := &moving{crowd(3)}
	h := &handler{options: Options{State: state, Static: sampleStatic()}}
	before := h.view()
	moved := *state.state
	moved.Ready = true // A provider has moved.
	state.state = &moved
	if h.view() != before {
		t.Error("the view of the same objects is made again")
	}
}

func BenchmarkSearch(b *testing.B) {
	handler := New(Options{State: fixed{crowd(10_000)}, Logger: telemetry.Discard{}, Static: sampleStatic()})
	for name, target := range map[string]string{
		"page": "/api/http/routers", "search": "/api/http/routers?search=host-99",
		"sort": "/api/http/routers?sortBy=priority&search=host-9",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if answer := ask(b, handler, http.MethodGet, target); answer.Code != http.StatusOK {
					b.Fatal(answer.Code)
				}
			}
		})
	}
	b.Run("view", func(b *testing.B) {
		state, config := crowd(10_000), sampleStatic()
		for b.Loop() {
			newView(state, config)
		}
	})
}
