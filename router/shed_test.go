package router_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/telemetry"
)

// level refuses the requests of all classes up to one.
type level struct {
	most       dynamic.PriorityClass
	retryAfter time.Duration
}

func (l level) Admit(class dynamic.PriorityClass) (permit uint32, retryAfter time.Duration, admitted bool) {
	return 0, l.retryAfter, class > l.most
}

func (level) Release(uint32) {}

// none refuses no request.
const none = dynamic.PriorityLow - 1

// newClasses returns a table with a router for each class, whose path is the name of the class, and routers to Sluice's
// own services and to nothing.
func newClasses(t testing.TB, shedder router.Shedder) (*router.ActiveTable, []dynamic.Verdict) {
	t.Helper()
	routers := map[string]*dynamic.Router{
		"ping@file":   {Rule: "Path(`/ping`)", Service: "ping@internal", PriorityClass: "low"},
		"acme@file":   {Rule: "PathPrefix(`/.well-known/acme-challenge/`)", Service: "acme-http@internal"},
		"broken@file": {Rule: "Path(`/broken`)", Service: "missing", PriorityClass: "low"},
	}
	for _, class := range []string{"", "low", "default", "high", "critical", "urgent"} {
		routers["class-"+class+"@file"] = &dynamic.Router{
			Rule: "Path(`/" + class + "`)", Service: "answer", PriorityClass: class,
		}
	}
	own := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	entrypoints := []router.EntryPoint{{Name: "web", Port: 80, Default: true, Policy: canonical.DefaultPolicy()}}
	target := router.NewActiveTable(entrypoints)
	if shedder != nil {
		target.SetShedder(shedder)
	}
	compiler := router.NewCompiler(router.Options{
		EntryPoints: entrypoints, Internal: map[string]http.Handler{"ping@internal": own, "acme-http@internal": own},
	}, target)
	changed := []dynamic.Ref{{Kind: dynamic.KindService, Name: "answer@file"}}
	for _, name := range slices.Sorted(maps.Keys(routers)) {
		changed = append(changed, dynamic.Ref{Kind: dynamic.KindRouter, Name: name})
	}
	compiled := compiler.Compile(router.Input{
		Configuration: &dynamic.Configuration{HTTP: &dynamic.HTTPConfiguration{
			Routers: immutable.Of(routers),
			Services: immutable.Of(map[string]*dynamic.Service{
				"answer@file": {DirectResponse: &dynamic.DirectResponse{Status: http.StatusOK}},
			}),
		}}, Changed: changed, Final: true,
	})
	compiled.Activate(1)
	return target, compiled.Verdicts
}

// get sends a request for a path and returns the answer and the record.
func get(t testing.TB, target *router.ActiveTable, path, contentType string) (
	*httptest.ResponseRecorder, *telemetry.Record,
) {
	t.Helper()
	record := &telemetry.Record{}
	r := httptest.NewRequestWithContext(telemetry.WithRecord(t.Context(), record), http.MethodGet, "http://x.test"+path,
		http.NoBody)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	recorder := httptest.NewRecorder()
	target.Handler("web").ServeHTTP(recorder, r)
	return recorder, record
}

// TestCriticalRequestsAreMarked has middlewares know the requests that are not refused because of overload.
func TestCriticalRequestsAreMarked(t *testing.T) {
	target, _ := newClasses(t, nil)
	for path, want := range map[string]bool{"/": false, "/high": false, "/critical": true, "/ping": true} {
		if _, record := get(t, target, path, ""); record.Critical != want {
			t.Errorf("%s: critical is %v", path, record.Critical)
		}
	}
}

// TestLessImportantRequestsAreRefusedFirst has every class at every level of overload.
func TestLessImportantRequestsAreRefusedFirst(t *testing.T) {
	served := map[dynamic.PriorityClass][]string{
		none:                     {"/", "/low", "/default", "/high", "/critical", "/urgent"},
		dynamic.PriorityLow:      {"/", "/default", "/high", "/critical", "/urgent"},
		dynamic.PriorityDefault:  {"/high", "/critical"},
		dynamic.PriorityHigh:     {"/critical"},
		dynamic.PriorityCritical: {"/critical"},
	}
	for most, want := range served {
		target, _ := newClasses(t, level{most: most, retryAfter: 1500 * time.Millisecond})
		for _, path := range served[none] {
			answer, record := get(t, target, path, "")
			if slices.Contains(want, path) {
				if answer.Code != http.StatusOK || record.Code != "" || answer.Header().Get("Retry-After") != "" {
					t.Errorf("up to %s: %s got %d, code %q", most, path, answer.Code, record.Code)
				}
				continue
			}
			if answer.Code != http.StatusServiceUnavailable || record.Code != telemetry.CodeOverloaded ||
				record.Reason == "" || record.Service != "" || answer.Header().Get("Retry-After") != "2" {
				t.Errorf("up to %s: %s got %d %v, code %q: %s", most, path, answer.Code, answer.Header(), record.Code,
					record.Reason)
			}
		}
		for _, path := range []string{"/ping", "/.well-known/acme-challenge/token"} {
			if answer, _ := get(t, target, path, ""); answer.Code != http.StatusOK {
				t.Errorf("up to %s: %s got %d", most, path, answer.Code)
			}
		}
		if answer, record := get(t, target, "/none", ""); answer.Code != http.StatusNotFound {
			t.Errorf("up to %s: no router, %d, code %q", most, answer.Code, record.Code)
		}
		if _, record := get(t, target, "/broken", ""); record.Code != telemetry.CodeRouterDisabled {
			t.Errorf("up to %s: a disabled router has the code %q", most, record.Code)
		}
	}
}

// TestCallsOfGRPCAreRefusedAsUnavailable has a call refused without a time to wait.
func TestCallsOfGRPCAreRefusedAsUnavailable(t *testing.T) {
	target, _ := newClasses(t, level{most: dynamic.PriorityDefault})
	answer, record := get(t, target, "/", "application/grpc")
	if answer.Code != http.StatusOK || answer.Header().Get("Grpc-Status") != "14" ||
		record.Code != telemetry.CodeOverloaded || len(answer.Header().Values("Retry-After")) != 0 {
		t.Errorf("status %d %v, code %q", answer.Code, answer.Header(), record.Code)
	}
}

func TestNothingIsRefusedWithoutAShedder(t *testing.T) {
	target, _ := newClasses(t, nil)
	for _, path := range []string{"/", "/low"} {
		if answer, _ := get(t, target, path, ""); answer.Code != http.StatusOK {
			t.Errorf("%s got %d", path, answer.Code)
		}
	}
}

// TestAnUnknownClassIsAWarning demands that such a router serves.
func TestAnUnknownClassIsAWarning(t *testing.T) {
	_, verdicts := newClasses(t, nil)
	reasons := map[string]string{}
	for _, verdict := range verdicts {
		if verdict.Status == dynamic.Degraded {
			reasons[verdict.Ref.Name] = verdict.Reason
		}
	}
	want := map[string]string{
		"class-urgent@file": `priorityClass "urgent" is none of low, default, high, critical, and has no effect`,
	}
	if diff := cmp.Diff(want, reasons); diff != "" {
		t.Error(diff)
	}
}

func TestExplainShowsTheClass(t *testing.T) {
	target, _ := newClasses(t, nil)
	for path, want := range map[string]string{
		"/": "", "/low": "low", "/default": "", "/high": "high", "/critical": "critical", "/urgent": "", "/ping": "critical",
	} {
		answer, err := target.Table().Explain(router.Question{Method: http.MethodGet, URL: "http://x.test" + path})
		if err != nil || answer.PriorityClass != want {
			t.Errorf("%s has the class %q, want %q: %v", path, answer.PriorityClass, want, err)
		}
	}
}

func BenchmarkServeWithAShedder(b *testing.B) {
	target, _ := newClasses(b, level{most: none})
	handler := target.Handler("web")
	request := httptest.NewRequestWithContext(telemetry.WithRecord(b.Context(), &telemetry.Record{}), http.MethodGet,
		"http://x.test/high", http.NoBody)
	recorder := httptest.NewRecorder()
	b.ReportAllocs()
	for b.Loop() {
		handler.ServeHTTP(recorder, request)
	}
}
