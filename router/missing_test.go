package router

import (
	"net/http"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
)

// A provider that does not find what an object refers to refuses it with a verdict. Like a reference that compiling
// finds missing, that may only be late.
func TestARefusalForSomethingMissingKeepsTheLastGoodRouteUntilSettled(t *testing.T) {
	chain := &dynamic.Middleware{Chain: &dynamic.Chain{Middlewares: []string{"m"}}}
	weighted := &dynamic.Service{Weighted: &dynamic.WeightedRoundRobin{Services: []dynamic.WeightedService{{Name: "s"}}}}
	for name, test := range map[string]struct {
		refused    dynamic.Ref
		service    string
		middleware []string
	}{
		"router":             {ref(dynamic.KindRouter, "r@file"), "a@internal", nil},
		"service":            {ref(dynamic.KindService, "s@file"), "s", nil},
		"service of another": {ref(dynamic.KindService, "s@file"), "w", nil},
		"middleware":         {ref(dynamic.KindMiddleware, "m@file"), "a@internal", []string{"m"}},
		"chain":              {ref(dynamic.KindMiddleware, "m@file"), "a@internal", []string{"c"}},
		"transport":          {ref(dynamic.KindServersTransport, "t@file"), "s", nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.middleware("m@file", &dynamic.Middleware{AddPrefix: &dynamic.AddPrefix{Prefix: "/m"}})
			b.middleware("c@file", chain)
			b.config.HTTP.ServersTransports = b.config.HTTP.ServersTransports.With("t@file", defaultTransport())
			b.service("s@file", balancer("http://192.0.2.1"))
			b.config.HTTP.Services.Get("s@file").LoadBalancer.ServersTransport = "t"
			b.service("w@file", weighted)
			b.router("r@file", "Host(`x.test`)", test.service, test.middleware...)
			b.all()
			serving := b.compiler.routers["r@file"]
			if serving.err != nil {
				t.Fatal(serving.err)
			}

			missing := dynamic.Verdict{
				Ref: test.refused, Status: dynamic.Quarantined, Reason: "Service shop/web does not exist",
				Missing: true,
			}
			b.config.Verdicts = []dynamic.Verdict{missing}
			b.apply(false, test.refused)
			if b.compiler.routers["r@file"] != serving || len(b.compiled.StaleRoutes) == 0 {
				t.Error("the router does not go on as it last served")
			}
			if test.refused.Kind != dynamic.KindRouter {
				b.wantVerdict(ref(dynamic.KindRouter, "r@file"), dynamic.Quarantined, ": Service shop/web does not exist")
				if !verdictOfRouter(b).Missing {
					t.Error("the verdict on the router does not say that something is missing")
				}
			}
			b.apply(true)
			b.wantStatus("http://x.test/", http.StatusServiceUnavailable)
			if len(b.compiled.StaleRoutes) > 0 {
				t.Error("a settled table is said to have kept a handler")
			}

			b.config.Verdicts = nil
			b.apply(false, test.refused)
			if found := b.compiler.routers["r@file"]; found.err != nil || len(b.compiled.Verdicts) != 0 {
				t.Errorf("after recovery: %v, verdicts %v", found.err, b.compiled.Verdicts)
			}
		})
	}
}

func verdictOfRouter(b *bench) dynamic.Verdict {
	for _, verdict := range b.compiled.Verdicts {
		if verdict.Ref.Kind == dynamic.KindRouter {
			return verdict
		}
	}
	return dynamic.Verdict{}
}

// What is certainly wrong takes effect at once, whatever else may only be late.
func TestARefusalForMoreThanSomethingMissingTakesEffectAtOnce(t *testing.T) {
	b := newBench(t)
	router := ref(dynamic.KindRouter, "r@file")
	b.router("r@file", "Host(`x.test`)", "a@internal")
	b.all()
	b.config.Verdicts = []dynamic.Verdict{
		{Ref: router, Status: dynamic.Quarantined, Reason: "Secret shop/users does not exist", Missing: true},
		{Ref: router, Status: dynamic.Quarantined, Reason: "another namespace is not allowed"},
	}
	b.apply(false, router)
	b.wantStatus("http://x.test/", http.StatusServiceUnavailable)
	if fault := b.compiler.routers["r@file"].err; fault == nil || fault.Error() != "another namespace is not allowed" {
		t.Errorf("the router's fault is %v", fault)
	}
}
