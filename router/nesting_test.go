package router

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
)

func chainOf(names ...string) *dynamic.Middleware {
	return &dynamic.Middleware{Chain: &dynamic.Chain{Middlewares: names}}
}

func weightedOf(names ...string) *dynamic.Service {
	weighted := &dynamic.WeightedRoundRobin{}
	for _, name := range names {
		weighted.Services = append(weighted.Services, dynamic.WeightedService{Name: name})
	}
	return &dynamic.Service{Weighted: weighted}
}

func TestAServiceMayNameAMiddlewareOfItsOwnName(t *testing.T) {
	b := newBench(t)
	b.middleware("app@file", &dynamic.Middleware{AddPrefix: &dynamic.AddPrefix{Prefix: "/p"}})
	b.service("app@file", weightedOf("a@internal"))
	b.config.HTTP.Services.Get("app@file").Middlewares = []string{"app"}
	b.router("app@file", "Host(`x.test`)", "app")
	// The middleware is not named as changed, so that the service is the one to come to it first.
	b.apply(true, ref(dynamic.KindRouter, "app@file"), ref(dynamic.KindService, "app@file"))
	if code, _, path := b.get("http://x.test/q"); code != http.StatusOK || path != "/p/q" {
		t.Errorf("a service behind a middleware of the same name: %d %q, want 200 /p/q; verdicts %v", code, path,
			b.compiled.Verdicts)
	}
}

// Each chain names the next one twice: laid flat, the first would have 2^40 members.
func TestChainsThatMultiplyAreRefused(t *testing.T) {
	b := newBench(t)
	for i := range 40 {
		next := fmt.Sprintf("m%d", i+1)
		b.middleware(fmt.Sprintf("m%d@file", i), chainOf(next, next))
	}
	b.middleware("m40@file", &dynamic.Middleware{AddPrefix: &dynamic.AddPrefix{Prefix: "/p"}})
	b.router("bad@file", "Path(`/bad`)", "a@internal", "m0")
	b.router("good@file", "Path(`/good`)", "b@internal", "m37")
	b.all()
	b.wantStatus("http://x.test/bad", http.StatusServiceUnavailable)
	b.wantService("http://x.test/good", "b")
	b.wantVerdict(ref(dynamic.KindMiddleware, "m0@file"), dynamic.Quarantined, "more than")
}

func TestServicesThatMultiplyAreRefused(t *testing.T) {
	b := newBench(t)
	for i := range 40 {
		next := fmt.Sprintf("s%d", i+1)
		b.service(fmt.Sprintf("s%d@file", i), weightedOf(next, next))
	}
	b.service("s40@file", weightedOf("a@internal"))
	b.router("bad@file", "Path(`/bad`)", "s0")
	b.router("good@file", "Path(`/good`)", "s37")
	b.all()
	b.wantStatus("http://x.test/bad", http.StatusServiceUnavailable)
	b.wantService("http://x.test/good", "a")
	b.wantVerdict(ref(dynamic.KindService, "s0@file"), dynamic.Quarantined, "more than")
	if _, err := b.target.Table().Explain(Question{URL: "http://x.test/good"}); err != nil {
		t.Error(err)
	}
}

// The reason of each object names the next one: without a bound, reasons would grow with the square of the depth.
func TestDeepChainsAreRefusedInOneSentence(t *testing.T) {
	const depth = 3000
	b := newBench(t)
	for i := range depth {
		b.middleware(fmt.Sprintf("m%d@file", i), chainOf(fmt.Sprintf("m%d", i+1)))
		b.service(fmt.Sprintf("s%d@file", i), weightedOf(fmt.Sprintf("s%d", i+1)))
	}
	b.router("chain@file", "Path(`/chain`)", "a@internal", "m0")
	b.router("service@file", "Path(`/service`)", "s0")
	b.all()
	b.wantStatus("http://x.test/chain", http.StatusServiceUnavailable)
	b.wantStatus("http://x.test/service", http.StatusServiceUnavailable)
	for _, verdict := range b.compiled.Verdicts {
		if len(verdict.Reason) > 2000 {
			t.Fatalf("the reason of %s has %d bytes: %s...", verdict.Ref, len(verdict.Reason), verdict.Reason[:200])
		}
	}
	b.wantVerdict(ref(dynamic.KindMiddleware, "m0@file"), dynamic.Quarantined, "deep")
	if last := fmt.Sprintf("m%d@file", depth-1); !strings.Contains(verdictOn(b, last), "does not exist") {
		t.Errorf("the reason of the last chain is %q", verdictOn(b, last))
	}
}

func verdictOn(b *bench, middleware string) string {
	for _, verdict := range b.compiled.Verdicts {
		if verdict.Ref == ref(dynamic.KindMiddleware, middleware) {
			return verdict.Reason
		}
	}
	return ""
}

// An undeclared name must cost nothing once nothing refers to it any more.
func TestDeletedNamesAreDropped(t *testing.T) {
	b := newBench(t)
	for i := range 10 {
		router := b.router("r@file", "Path(`/`)", fmt.Sprintf("s%d", i), fmt.Sprintf("m%d", i))
		router.TLS = &dynamic.RouterTLS{Options: fmt.Sprintf("o%d", i)}
		b.service("s@file", balancer("http://192.0.2.1"))
		b.config.HTTP.Services.Get("s@file").LoadBalancer.ServersTransport = fmt.Sprintf("t%d", i)
		b.all()
	}
	c := b.compiler
	for kind, length := range map[string]int{
		"middlewares": len(c.middlewares), "transports": len(c.transports), "tls options": len(c.tls.memory),
	} {
		if length > 2 {
			t.Errorf("%d %s are kept, of which none is declared", length, kind)
		}
	}
	for name := range c.services {
		if name != "s@file" {
			t.Errorf("service %q is kept, which is not declared", name)
		}
	}
}
