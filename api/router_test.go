package api_test

import (
	"encoding/json"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/api"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// state is a pipeline whose state does not change.
type state struct{ current *pipeline.State }

func (s state) State() *pipeline.State { return s.current }

// get returns the decoded answer to a request for a path of an API with a configuration.
func get[T any](t *testing.T, path string, http *dynamic.HTTPConfiguration,
	entryPoints map[string]*static.EntryPoint,
) T {
	t.Helper()
	handler := api.New(api.Options{
		State:  state{&pipeline.State{Ready: true, Configuration: &dynamic.Configuration{HTTP: http}}},
		Static: &static.Configuration{EntryPoints: entryPoints, API: &static.API{}}, Logger: telemetry.Discard{},
	})
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), "GET", path, nil))
	var decoded T
	if err := json.Unmarshal(answer.Body.Bytes(), &decoded); err != nil || answer.Code != 200 {
		t.Fatalf("GET %s = %d %s (%v)", path, answer.Code, answer.Body, err)
	}
	return decoded
}

// router is what a router's answer says of its effective options.
type router struct {
	Middlewares   []string       `json:"middlewares"`
	RuleSyntax    string         `json:"ruleSyntax"`
	Observability map[string]any `json:"observability"`
}

func TestRoutersHaveTheirEffectiveOptions(t *testing.T) {
	entryPoint := func(address string, change func(*static.EntryPointTelemetry)) *static.EntryPoint {
		made := &static.EntryPoint{}
		made.SetDefaults()
		made.Address = address
		change(&made.Observability)
		return made
	}
	entryPoints := map[string]*static.EntryPoint{
		"web": entryPoint(":80", func(*static.EntryPointTelemetry) {}),
		"silent": entryPoint(":81", func(o *static.EntryPointTelemetry) {
			o.AccessLogs, o.TraceVerbosity = false, "detailed"
		}),
	}
	never := false
	routers := map[string]*dynamic.Router{
		"chained@file": {EntryPoints: []string{"web"}, Middlewares: []string{"one", "two@docker"}},
		"silent@file":  {EntryPoints: []string{"silent"}, RuleSyntax: "v2"},
		"both@file":    {EntryPoints: []string{"web", "silent"}},
		"own@file": {
			EntryPoints:   []string{"web", "silent"},
			Observability: &dynamic.RouterObservability{AccessLogs: &never, TraceVerbosity: "minimal"},
		},
		"nowhere@file":     {EntryPoints: []string{"lost"}},
		"service@internal": {EntryPoints: []string{"web"}},
	}
	all := map[string]any{"accessLogs": true, "metrics": true, "tracing": true, "traceVerbosity": "minimal"}
	want := map[string]router{
		"chained@file": {Middlewares: []string{"one@file", "two@docker"}, RuleSyntax: "v3", Observability: all},
		"silent@file": {RuleSyntax: "v2", Observability: map[string]any{
			"accessLogs": false, "metrics": true, "tracing": true, "traceVerbosity": "detailed",
		}},
		"both@file": {RuleSyntax: "v3", Observability: map[string]any{"metrics": true, "tracing": true}},
		"own@file": {RuleSyntax: "v3", Observability: map[string]any{
			"accessLogs": false, "metrics": true, "tracing": true, "traceVerbosity": "minimal",
		}},
		"nowhere@file":     {RuleSyntax: "v3"},
		"service@internal": {RuleSyntax: "default", Observability: all},
	}
	http := &dynamic.HTTPConfiguration{Routers: immutable.Of(routers)}
	raw := get[struct{ Routers map[string]router }](t, "/api/rawdata", http, entryPoints)
	if diff := cmp.Diff(want, raw.Routers); diff != "" {
		t.Errorf("/api/rawdata (-want +got):\n%s", diff)
	}
	for name := range routers {
		if diff := cmp.Diff(want[name], get[router](t, "/api/http/routers/"+name, http, entryPoints)); diff != "" {
			t.Errorf("/api/http/routers/%s (-want +got):\n%s", name, diff)
		}
	}
	if routers["chained@file"].Middlewares[0] != "one" || routers["own@file"].Observability.Metrics != nil {
		t.Error("the API changed the configuration")
	}
}

// TestQueryOfAnErrorPageIsShown proves that the path and placeholders are shown, and other parameters, which may hold a
// token, are not.
func TestQueryOfAnErrorPageIsShown(t *testing.T) {
	for query, want := range map[string]string{
		"/{status}.html":               "/{status}.html",
		"{status}.html":                "{status}.html",
		"{status}.html?token=hunter2":  "{status}.html?xxxx",
		"/errors?url={url}":            "/errors?url={url}",
		"/e?hunter2&url={url}#hunter2": "/e?xxxx",
		"/e#hunter2":                   "/e#xxxx",
		"/e?url={url}hunter2":          "/e?xxxx",
		"//user:hunter2@host":          "xxxx",
		"/e?code={status}&was={originalStatus}&key=hunter2&hunter2": "/e?code={status}&was={originalStatus}&xxxx",
	} {
		page := &dynamic.ErrorPage{Status: []string{"500-599"}, Service: "pages", Query: query}
		answer := get[struct{ Errors struct{ Query string } }](t, "/api/http/middlewares/page@file",
			&dynamic.HTTPConfiguration{
				Middlewares: immutable.Of(map[string]*dynamic.Middleware{"page@file": {Errors: page}}),
			}, nil)
		if answer.Errors.Query != want {
			t.Errorf("query %q is shown as %q, want %q", query, answer.Errors.Query, want)
		}
	}
}

// A router whose rule is a tree is shown, found and ordered by the text of the rule.
func TestRuleIsShownAsText(t *testing.T) {
	type shown struct {
		Name     string `json:"name"`
		Rule     string `json:"rule"`
		Priority int    `json:"priority"`
	}
	got := get[[]shown](t, "/api/http/routers?search=header&sortBy=rule&direction=desc", &dynamic.HTTPConfiguration{
		Routers: immutable.Of(map[string]*dynamic.Router{
			"text@file":  {Rule: "Header(`X-A`, `a`)"},
			"tree@file":  {Match: &dynamic.Match{Name: "Header", Args: []string{"X-B", "a`b"}}},
			"other@file": {Match: &dynamic.Match{Name: "Path", Args: []string{"/a"}}},
		}),
	}, nil)
	want := []shown{{"tree@file", "Header(`X-B`, \"a`b\")", 20}, {"text@file", "Header(`X-A`, `a`)", 18}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
