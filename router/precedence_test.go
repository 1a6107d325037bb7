package router_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
	"github.com/sluiceproxy/sluice/router"
)

// newRouters activates routers whose services are a@internal and b@internal, which answer with their names.
func newRouters(t *testing.T, routers map[string]*dynamic.Router) (*router.ActiveTable, []dynamic.Verdict) {
	t.Helper()
	return newRoutersIn(t, "", routers)
}

// newRoutersIn is newRouters with a default syntax of rules.
func newRoutersIn(t *testing.T, syntax string, routers map[string]*dynamic.Router) (
	*router.ActiveTable, []dynamic.Verdict,
) {
	t.Helper()
	entrypoints := []router.EntryPoint{{Name: "web", Port: 80, Default: true, Policy: canonical.DefaultPolicy()}}
	named := func(name string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Service", name) })
	}
	target := router.NewActiveTable(entrypoints)
	compiler := router.NewCompiler(router.Options{
		EntryPoints: entrypoints, Precedence: []string{"docker", "file"}, RuleSyntax: syntax,
		Internal: map[string]http.Handler{"a@internal": named("a"), "b@internal": named("b")},
	}, target)
	var changed []dynamic.Ref
	for name := range routers {
		changed = append(changed, dynamic.Ref{Kind: dynamic.KindRouter, Name: name})
	}
	compiled := compiler.Compile(router.Input{
		Configuration: &dynamic.Configuration{
			HTTP: &dynamic.HTTPConfiguration{Routers: immutable.Of(routers)},
		}, Changed: changed, Final: true,
	})
	compiled.Activate(1)
	return target, compiled.Verdicts
}

// answering returns the service that answers a request on the entrypoint web, or the status.
func answering(target *router.ActiveTable, request *http.Request) string {
	recorder := httptest.NewRecorder()
	target.Handler("web").ServeHTTP(recorder, request)
	if service := recorder.Header().Get("X-Service"); service != "" {
		return service
	}
	return http.StatusText(recorder.Code)
}

// TestPrecedenceAndAgeDecideBeforeTheProvider has two routers of equal priority, of which the provider's place in the
// order, and then the name, would have router y answer.
func TestPrecedenceAndAgeDecideBeforeTheProvider(t *testing.T) {
	first, second := time.Unix(1000, 0), time.Unix(2000, 0)
	tests := []struct {
		name   string
		x, y   dynamic.Router
		winner string
		reason string
	}{
		{"none", dynamic.Router{}, dynamic.Router{}, "y@docker", "its provider comes later"},
		{
			"a larger key",
			dynamic.Router{Precedence: []int64{2}},
			dynamic.Router{Precedence: []int64{1}},
			"x@file",
			"its precedence is lower",
		},
		{
			"the first key that differs",
			dynamic.Router{Precedence: []int64{1, 3}},
			dynamic.Router{Precedence: []int64{1, 2, 9}},
			"x@file", "its precedence is lower",
		},
		{
			"a missing key is 0",
			dynamic.Router{},
			dynamic.Router{Precedence: []int64{0, -1}},
			"x@file",
			"its precedence is lower",
		},
		{
			"zeros at the end",
			dynamic.Router{Precedence: []int64{4, 0}},
			dynamic.Router{Precedence: []int64{4}},
			"y@docker",
			"its provider comes later",
		},
		{
			"keys before the priority",
			dynamic.Router{Precedence: []int64{9}},
			dynamic.Router{Priority: 100},
			"y@docker",
			"its priority is below 100",
		},
		{"an older one", dynamic.Router{Created: first}, dynamic.Router{Created: second}, "x@file", "it was created later"},
		{
			"one instant in two zones",
			dynamic.Router{Created: first},
			dynamic.Router{Created: first.UTC()},
			"y@docker",
			"its provider comes later",
		},
		{
			"a key before the age",
			dynamic.Router{Created: second, Precedence: []int64{1}},
			dynamic.Router{Created: first},
			"x@file",
			"its precedence is lower",
		},
		{"no time is the oldest", dynamic.Router{}, dynamic.Router{Created: first}, "x@file", "it was created later"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			x, y := test.x, test.y
			x.Rule, x.Service = "Path(`/p`)", "a@internal"
			y.Rule, y.Service = "Path(`/p`)", "b@internal"
			target, verdicts := newRouters(t, map[string]*dynamic.Router{"x@file": &x, "y@docker": &y})
			if len(verdicts) > 0 {
				t.Fatalf("verdicts %v", verdicts)
			}
			want := map[string]string{"x@file": "a", "y@docker": "b"}[test.winner]
			request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://x.test/p", http.NoBody)
			if got := answering(target, request); got != want {
				t.Errorf("%s answers, want %s", got, want)
			}
			if first := target.Table().Routes()[0].Name; first != test.winner {
				t.Errorf("the list begins with %s, want %s", first, test.winner)
			}
			answer, err := target.Table().Explain(router.Question{Method: http.MethodGet, URL: "http://x.test/p"})
			if err != nil || len(answer.Next) != 1 {
				t.Fatalf("explained as %+v: %v", answer, err)
			}
			if answer.Router.Name != test.winner || !strings.HasSuffix(answer.Next[0].Reason, "but "+test.reason) {
				t.Errorf("explained: %s answers, the other one not since %q", answer.Router.Name, answer.Next[0].Reason)
			}
		})
	}
}
