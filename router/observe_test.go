package router

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/telemetry"
)

const everything = telemetry.ObserveMetrics | telemetry.ObserveAccess | telemetry.ObserveTrace | telemetry.ObserveDetail

// A router records what its own options say, or else its entrypoint's, and nothing that no sink reads.
func TestObserve(t *testing.T) {
	off, on := false, true
	tests := []struct {
		name                string
		entrypoint, watched telemetry.Observe
		own                 *dynamic.RouterObservability
		want                telemetry.Observe
	}{
		{
			"as the entrypoint", telemetry.ObserveMetrics | telemetry.ObserveAccess, everything, nil,
			telemetry.ObserveMetrics | telemetry.ObserveAccess,
		},
		{
			"less", everything, everything, &dynamic.RouterObservability{AccessLogs: &off, Tracing: &off},
			telemetry.ObserveMetrics,
		},
		{"more", 0, everything, &dynamic.RouterObservability{Metrics: &on}, telemetry.ObserveMetrics},
		{
			"not observed", everything, telemetry.ObserveAccess, &dynamic.RouterObservability{Metrics: &on},
			telemetry.ObserveAccess,
		},
		{
			"detail", telemetry.ObserveTrace, everything, &dynamic.RouterObservability{TraceVerbosity: "detailed"},
			telemetry.ObserveTrace | telemetry.ObserveDetail,
		},
		{
			"less detail", telemetry.ObserveTrace | telemetry.ObserveDetail, everything,
			&dynamic.RouterObservability{TraceVerbosity: "minimal"}, telemetry.ObserveTrace,
		},
		{"detail of nothing", 0, everything, &dynamic.RouterObservability{TraceVerbosity: "detailed"}, 0},
	}
	for _, test := range tests {
		b := newBench(t)
		for i := range b.compiler.options.EntryPoints {
			b.compiler.options.EntryPoints[i].Observe = test.entrypoint
		}
		b.compiler.options.Watched, b.compiler.options.Internals = test.watched, test.watched
		b.router("r@file", "Path(`/`)", "a@internal").Observability = test.own
		b.all()
		record := &telemetry.Record{Observe: telemetry.ObserveHeaders}
		if test.want.Has(telemetry.ObserveAccess) {
			test.want |= telemetry.ObserveHeaders // They are kept for the access log alone.
		}
		r := httptest.NewRequestWithContext(telemetry.WithRecord(t.Context(), record), http.MethodGet, "http://x.test/",
			http.NoBody)
		b.target.Handler("web").ServeHTTP(httptest.NewRecorder(), r)
		if record.Router != "r@file" || record.Observe != test.want {
			t.Errorf("%s: router %q observes %b, want %b", test.name, record.Router, record.Observe, test.want)
		}
		if record.Generation != 1 {
			t.Errorf("%s: generation %d", test.name, record.Generation)
		}
	}
}

// A record says which Ingress its router was made of, also where that is disabled, and nothing where it was made of
// none.
func TestIngressOfARouter(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{"front", "broken"} {
		service := map[string]string{"front": "a@internal", "broken": "missing@kubernetes"}[name]
		b.router(name+"@kubernetes", "Path(`/"+name+"`)",
			service).Observability = &dynamic.RouterObservability{Metadata: &dynamic.ObservabilityMetadata{
			Ingress: &dynamic.IngressMetadata{Namespace: "shop", IngressName: name, ServiceName: "web", ServicePort: "http"},
		}}
	}
	b.router("empty@kubernetes", "Path(`/empty`)",
		"a@internal").Observability = &dynamic.RouterObservability{Metadata: &dynamic.ObservabilityMetadata{}}
	b.router("plain@file", "Path(`/plain`)", "a@internal").Observability = &dynamic.RouterObservability{}
	b.router("bare@file", "Path(`/bare`)", "a@internal")
	b.all()
	for _, name := range []string{"front", "broken", "empty", "plain", "bare"} {
		var want *telemetry.Ingress
		if name == "front" || name == "broken" {
			want = &telemetry.Ingress{Namespace: "shop", Name: name, Service: "web", Port: "http"}
		}
		record := &telemetry.Record{}
		r := httptest.NewRequestWithContext(telemetry.WithRecord(t.Context(), record), http.MethodGet, "http://x.test/"+name,
			http.NoBody)
		b.target.Handler("web").ServeHTTP(httptest.NewRecorder(), r)
		if diff := cmp.Diff(want, record.Ingress); record.Router == "" || diff != "" {
			t.Errorf("%s: router %q: %s", name, record.Router, diff)
		}
	}
}

// Requests to Sluice's own services are recorded only if an option says so.
func TestInternalsAreNotObserved(t *testing.T) {
	for _, internals := range []telemetry.Observe{0, telemetry.ObserveMetrics} {
		b := newBench(t)
		for i := range b.compiler.options.EntryPoints {
			b.compiler.options.EntryPoints[i].Observe = everything
		}
		b.compiler.options.Watched, b.compiler.options.Internals = everything, internals
		b.router("r@file", "Path(`/`)", "a@internal")
		b.all()
		record := new(telemetry.Record)
		r := httptest.NewRequestWithContext(telemetry.WithRecord(t.Context(), record), http.MethodGet, "http://x.test/",
			http.NoBody)
		b.target.Handler("web").ServeHTTP(httptest.NewRecorder(), r)
		if record.Observe != internals {
			t.Errorf("observes %b, want %b", record.Observe, internals)
		}
	}
}
