package router

import (
	"net/http"
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

// A router that shows the configuration to whoever asks gets a warning, and is closed where authentication is required.
func TestUnguardedAPI(t *testing.T) {
	allow := &dynamic.Middleware{IPAllowList: &dynamic.IPAllowList{SourceRange: []string{"192.0.2.0/24"}}}
	tests := []struct {
		name    string
		prepare func(b *bench)
		guarded bool
	}{
		{"bare", func(*bench) {}, false},
		{"with a middleware that lets everybody in", func(b *bench) {
			b.config.HTTP.Middlewares["m@file"] = &dynamic.Middleware{AddPrefix: &dynamic.AddPrefix{Prefix: "/x"}}
			b.config.HTTP.Routers["r@file"].Middlewares = []string{"m"}
		}, false},
		{"with an allow list", func(b *bench) {
			b.config.HTTP.Middlewares["m@file"] = allow
			b.config.HTTP.Routers["r@file"].Middlewares = []string{"m"}
		}, true},
		{"with an allow list in a chain", func(b *bench) {
			b.config.HTTP.Middlewares["m@file"] = allow
			b.config.HTTP.Middlewares["c@file"] = &dynamic.Middleware{Chain: &dynamic.Chain{Middlewares: []string{"m"}}}
			b.config.HTTP.Routers["r@file"].Middlewares = []string{"c"}
		}, true},
		{"with an allow list of the entrypoint", func(b *bench) {
			b.config.HTTP.Middlewares["m@file"] = allow
			b.compiler.options.EntryPoints[0].Middlewares = []string{"m@file"}
		}, true},
		{"on loopback", func(b *bench) { b.compiler.options.EntryPoints[0].Loopback = true }, true},
		{"below a service of services", func(b *bench) {
			b.config.HTTP.Services["w@file"] = &dynamic.Service{Weighted: &dynamic.WeightedRoundRobin{
				Services: []dynamic.WeightedService{{Name: "api@internal"}},
			}}
			b.config.HTTP.Routers["r@file"].Service = "w"
		}, false},
	}
	for _, test := range tests {
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
			if closed := status == http.StatusForbidden; closed != (required && !test.guarded) && !strings.Contains(test.name, "allow list") {
				t.Errorf("%s, required %v: status %d", test.name, required, status)
			}
			if !required && !test.guarded {
				b.wantVerdict(ref(dynamic.KindRouter, "r@file"), dynamic.Degraded, "anybody who reaches entrypoint")
			}
			if required && !test.guarded {
				b.wantVerdict(ref(dynamic.KindRouter, "r@file"), dynamic.Quarantined, "api.requireAuth: nothing on its way")
			}
		}
	}
}
