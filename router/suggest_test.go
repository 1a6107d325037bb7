package router

import (
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
)

// reasonOf returns the reason of the verdict on an object, and its cause.
func reasonOf(b *bench, of dynamic.Ref) (string, dynamic.Ref) {
	for _, verdict := range b.compiled.Verdicts {
		if verdict.Ref == of {
			return verdict.Reason, verdict.Cause
		}
	}
	return "", dynamic.Ref{}
}

// TestMissingReferencesNameWhatIsMeant follows one missing reference: the suggestion comes and goes with the object
// that is meant, without a change of the router.
func TestMissingReferencesNameWhatIsMeant(t *testing.T) {
	b := newBench(t)
	router := ref(dynamic.KindRouter, "r@file")
	b.service("shop@docker", balancer("http://192.0.2.1"))
	b.router("r@file", "Path(`/`)", "shpo")
	b.all()
	for _, step := range []struct {
		exists string
		want   string
	}{
		{"", `service shpo@file does not exist, did you mean "shop@docker"?`},
		{"shop@file", `service shpo@file does not exist, did you mean "shop@file"?`},
		{"shpo@docker", `service shpo@file does not exist, did you mean "shpo@docker"?`},
	} {
		if step.exists != "" {
			b.service(step.exists, balancer("http://192.0.2.1"))
			b.apply(true, ref(dynamic.KindService, step.exists))
		}
		reason, cause := reasonOf(b, router)
		if strings.ReplaceAll(reason, `"shpo@file"`, "shpo@file") != step.want || cause.Name != "shpo@file" {
			t.Errorf("with %q: got %q because of %s, want %q", step.exists, reason, cause, step.want)
		}
	}
	for _, name := range []string{"shop@docker", "shop@file", "shpo@docker"} {
		b.config.HTTP.Services = b.config.HTTP.Services.Without(name)
	}
	b.apply(true, ref(dynamic.KindService, "shop@docker"), ref(dynamic.KindService, "shop@file"),
		ref(dynamic.KindService, "shpo@docker"))
	if reason, _ := reasonOf(b, router); strings.Contains(reason, "did you mean") {
		t.Errorf("got %q, though no service is left", reason)
	}
}

// TestSuggestionsNeedASimilarNameThatIsMissing expects no suggestion by a namespace in common alone, nor where the
// object exists and something that it needs is missing.
func TestSuggestionsNeedASimilarNameThatIsMissing(t *testing.T) {
	b := newBench(t)
	b.middleware("shop-auth@kubernetescrd", &dynamic.Middleware{BasicAuth: &dynamic.BasicAuth{}})
	b.config.Verdicts = []dynamic.Verdict{{
		Ref: ref(dynamic.KindMiddleware, "shop-auth@kubernetescrd"), Status: dynamic.Quarantined, Missing: true,
		Reason: "Secret shop/users does not exist",
	}}
	for name, middleware := range map[string]string{"r1": "shop-late", "r2": "shop-auth", "r3": "shop-auht"} {
		b.service("s@kubernetescrd", balancer("http://192.0.2.1"))
		b.router(name+"@kubernetescrd", "Path(`/"+name+"`)", "s", middleware)
	}
	b.all()
	for name, want := range map[string]string{
		"r1": `middleware "shop-late@kubernetescrd" does not exist`,
		"r2": `middleware "shop-auth@kubernetescrd": Secret shop/users does not exist`,
		"r3": `middleware "shop-auht@kubernetescrd" does not exist, did you mean "shop-auth@kubernetescrd"?`,
	} {
		if reason, _ := reasonOf(b, ref(dynamic.KindRouter, name+"@kubernetescrd")); reason != want {
			t.Errorf("%s: got %q, want %q", name, reason, want)
		}
	}
}

// TestVerdictsNameTheirCause expects the middleware with the fault behind each router that lists it, through a chain.
func TestVerdictsNameTheirCause(t *testing.T) {
	b := newBench(t)
	b.middleware("m@file", &dynamic.Middleware{AddPrefix: &dynamic.AddPrefix{}})
	b.middleware("c@file", &dynamic.Middleware{Chain: &dynamic.Chain{Middlewares: []string{"m"}}})
	b.router("r@file", "Path(`/`)", "a@internal", "c")
	b.all()
	middleware := ref(dynamic.KindMiddleware, "m@file")
	if reason, cause := reasonOf(b, middleware); reason == "" || cause != (dynamic.Ref{}) {
		t.Errorf("%s: %q because of %s, want a fault of its own", middleware, reason, cause)
	}
	for _, of := range []dynamic.Ref{ref(dynamic.KindMiddleware, "c@file"), ref(dynamic.KindRouter, "r@file")} {
		if reason, cause := reasonOf(b, of); reason == "" || cause != middleware {
			t.Errorf("%s: %q because of %s, want %s", of, reason, cause, middleware)
		}
	}
}
