package router

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
)

// apiBench is a bench whose API is an internal service.
func apiBench(t *testing.T) *bench {
	b := newBench(t)
	b.compiler.options.Internal["api@internal"] = b.compiler.options.Internal["a@internal"]
	return b
}

// showOnError declares a middleware e that lets the API answer in the place of everything, and has the router answer
// something else.
func showOnError(b *bench) {
	b.middleware("e@file", &dynamic.Middleware{
		Errors: &dynamic.ErrorPage{Status: []string{"200-599"}, Service: "api@internal", Query: "/api/rawdata"},
	})
	b.config.HTTP.Routers.Get("r@file").Service = "a@internal"
}

// leading is how a router leads to the API, and whether a middleware in between controls access.
type leading struct {
	name    string
	prepare func(b *bench)
	guarded bool
}

// ways begin with a router r whose service is the API.
func ways() []leading {
	allow := &dynamic.Middleware{IPAllowList: &dynamic.IPAllowList{SourceRange: []string{"192.0.2.0/24"}}}
	return []leading{
		{"bare", func(*bench) {}, false},
		{"with a middleware that admits all clients", func(b *bench) {
			b.middleware("m@file", &dynamic.Middleware{AddPrefix: &dynamic.AddPrefix{Prefix: "/x"}})
			b.config.HTTP.Routers.Get("r@file").Middlewares = []string{"m"}
		}, false},
		{"with an allow list", func(b *bench) {
			b.middleware("m@file", allow)
			b.config.HTTP.Routers.Get("r@file").Middlewares = []string{"m"}
		}, true},
		{"with an allow list in a chain", func(b *bench) {
			b.middleware("m@file", allow)
			b.middleware("c@file", &dynamic.Middleware{Chain: &dynamic.Chain{Middlewares: []string{"m"}}})
			b.config.HTTP.Routers.Get("r@file").Middlewares = []string{"c"}
		}, true},
		{"with an allow list of the entrypoint", func(b *bench) {
			b.middleware("m@file", allow)
			b.compiler.options.EntryPoints[0].Middlewares = []string{"m@file"}
		}, true},
		{"on loopback", func(b *bench) { b.compiler.options.EntryPoints[0].Loopback = true }, true},
		{"below a service of services", func(b *bench) {
			b.service("w@file", &dynamic.Service{Weighted: &dynamic.WeightedRoundRobin{
				Services: []dynamic.WeightedService{{Name: "api@internal"}},
			}})
			b.config.HTTP.Routers.Get("r@file").Service = "w"
		}, false},
	}
}

// nested are ways on which the API is below another service, or called by a middleware.
func nested() []leading {
	allow := &dynamic.Middleware{IPAllowList: &dynamic.IPAllowList{SourceRange: []string{"192.0.2.0/24"}}}
	return []leading{
		{"below a service of services whose own middleware is an allow list", func(b *bench) {
			b.middleware("m@file", allow)
			b.service("inner@file", &dynamic.Service{Middlewares: []string{"m"}, Weighted: &dynamic.WeightedRoundRobin{
				Services: []dynamic.WeightedService{{Name: "api@internal"}},
			}})
			b.service("outer@file", &dynamic.Service{Weighted: &dynamic.WeightedRoundRobin{
				Services: []dynamic.WeightedService{{Name: "inner"}},
			}})
			b.config.HTTP.Routers.Get("r@file").Service = "outer"
		}, true},
		{"below a service of services beside one with an allow list", func(b *bench) {
			b.middleware("m@file", allow)
			b.service("inner@file", &dynamic.Service{Middlewares: []string{"m"}, Weighted: &dynamic.WeightedRoundRobin{
				Services: []dynamic.WeightedService{{Name: "api@internal"}},
			}})
			b.service("outer@file", &dynamic.Service{Failover: &dynamic.Failover{Service: "inner", Fallback: "api@internal"}})
			b.config.HTTP.Routers.Get("r@file").Service = "outer"
		}, false},
		{
			"as the page of errors", func(b *bench) {
				showOnError(b)
				b.config.HTTP.Routers.Get("r@file").Middlewares = []string{"e"}
			}, false,
		},
		{"as the page of errors, with an allow list behind it", func(b *bench) {
			showOnError(b)
			b.middleware("m@file", allow)
			b.config.HTTP.Routers.Get("r@file").Middlewares = []string{"e", "m"}
		}, false},
		{"as the page of errors, with an allow list before it", func(b *bench) {
			showOnError(b)
			b.middleware("m@file", allow)
			b.config.HTTP.Routers.Get("r@file").Middlewares = []string{"m", "e"}
		}, true},
		{"as the page of errors of a service", func(b *bench) {
			showOnError(b)
			b.service("s@file", &dynamic.Service{Middlewares: []string{"e"}, Weighted: &dynamic.WeightedRoundRobin{
				Services: []dynamic.WeightedService{{Name: "a@internal"}},
			}})
			b.config.HTTP.Routers.Get("r@file").Service = "s"
		}, false},
	}
}

// A router that exposes the configuration to all clients gets a warning, and is closed where authentication is
// required.
func TestUnguardedAPI(t *testing.T) {
	for _, test := range slices.Concat(ways(), nested()) {
		for _, required := range []bool{false, true} {
			b := apiBench(t)
			b.compiler.options.RequireAuth = required
			b.router("r@file", "Path(`/api`)", "api@internal")
			test.prepare(b)
			b.all()
			status, _, _ := b.get("http://x.test/api")
			warned := false
			for _, verdict := range b.compiled.Verdicts {
				warned = warned || verdict.Ref.Name == "r@file" && strings.Contains(verdict.Reason, "api.requireAuth")
			}
			if warned == test.guarded {
				t.Errorf("%s, required %v: verdicts %v", test.name, required, b.compiled.Verdicts)
			}
			if closed := status == http.StatusForbidden; closed != (required && !test.guarded) && !strings.Contains(test.name,
				"allow list") {
				t.Errorf("%s, required %v: status %d", test.name, required, status)
			}
			if !required && !test.guarded {
				b.wantVerdict(ref(dynamic.KindRouter, "r@file"), dynamic.Degraded, "shows the configuration without access control")
			}
			if required && !test.guarded {
				b.wantVerdict(ref(dynamic.KindRouter, "r@file"), dynamic.Quarantined, "api.requireAuth: nothing on its way")
			}
		}
	}
}

// A router that leads to the administration without access control is closed, whatever api.requireAuth says.
func TestUnguardedAdmin(t *testing.T) {
	for _, test := range slices.Concat(ways(), nested()) {
		b := newBench(t)
		b.compiler.options.Internal["admin@internal"] = b.compiler.options.Internal["a@internal"]
		b.router("r@file", "Path(`/api`)", "api@internal")
		b.compiler.options.Internal["api@internal"] = b.compiler.options.Internal["a@internal"]
		test.prepare(b)
		toAdmin(b)
		b.all()
		status, _, _ := b.get("http://x.test/api")
		if closed := status == http.StatusForbidden; !test.guarded && !closed {
			t.Errorf("%s: status %d", test.name, status)
		}
		if !test.guarded {
			b.wantVerdict(ref(dynamic.KindRouter, "r@file"), dynamic.Quarantined, "admin@internal: nothing on its way")
			continue
		}
		for _, verdict := range b.compiled.Verdicts {
			t.Errorf("%s: verdict %v", test.name, verdict)
		}
	}
}

// A mirror's response is discarded, but what it is sent may change the process.
func TestUnguardedAdminBehindAMirror(t *testing.T) {
	for name, service := range map[string]*dynamic.Service{
		"mirror":          mirroringOf("a@internal", 100, "admin@internal"),
		"weighted mirror": mirroringOf("a@internal", 100, "w"),
	} {
		b := newBench(t)
		b.compiler.options.Internal["admin@internal"] = b.compiler.options.Internal["a@internal"]
		b.service("w@file", weightedOf("admin@internal", "a@internal"))
		b.service("m@file", service)
		b.router("r@file", "Path(`/api`)", "m")
		b.all()
		if status, _, _ := b.get("http://x.test/api"); status != http.StatusForbidden {
			t.Errorf("%s: status %d", name, status)
		}
		b.wantVerdict(ref(dynamic.KindRouter, "r@file"), dynamic.Quarantined, "admin@internal: nothing on its way")
	}
}

// toAdmin replaces the API by the administration in all objects.
func toAdmin(b *bench) {
	for _, router := range b.config.HTTP.Routers.All() {
		if router.Service == "api@internal" {
			router.Service = "admin@internal"
		}
	}
	for _, service := range b.config.HTTP.Services.All() {
		if service.Weighted != nil {
			for i := range service.Weighted.Services {
				if service.Weighted.Services[i].Name == "api@internal" {
					service.Weighted.Services[i].Name = "admin@internal"
				}
			}
		}
		if service.Failover != nil && service.Failover.Fallback == "api@internal" {
			service.Failover.Fallback = "admin@internal"
		}
	}
	for _, definition := range b.config.HTTP.Middlewares.All() {
		if definition.Errors != nil {
			definition.Errors.Service = "admin@internal"
		}
	}
}
