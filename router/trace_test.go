package router

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/telemetry"
)

// noting is a tracer that notes which requests may have their trace apart from the header.
type noting map[string]bool

func (n noting) Begin(record *telemetry.Record, _ *http.Request) {
	n[record.Router] = record.TraceApart
}

// TestTracesApartFromTheHeader demands that a trace is kept from the header only where no handler reads it on the way
// to the attempt.
func TestTracesApartFromTheHeader(t *testing.T) {
	b := newBench(t)
	noted := noting{}
	b.target.Trace(noted)
	b.compiler.options.Watched = everything
	for i := range b.compiler.options.EntryPoints {
		b.compiler.options.EntryPoints[i].Observe = telemetry.ObserveTrace
	}
	servers := func() *dynamic.Service {
		return &dynamic.Service{LoadBalancer: &dynamic.ServersLoadBalancer{
			Servers: []dynamic.Server{{URL: "http://127.0.0.1:1"}},
		}}
	}
	b.middleware("prefix@file", &dynamic.Middleware{AddPrefix: &dynamic.AddPrefix{Prefix: "/p"}})
	b.service("plain@file", servers())
	b.service("other@file", servers())
	b.service("own@file", servers())
	b.config.HTTP.Services.Get("own@file").Middlewares = []string{"prefix"}
	b.service("weighted@file", weightedOf("plain@file", "other@file"))
	b.service("mirroring@file", mirroringOf("plain@file", 100, "other@file"))
	b.service("failover@file", failoverOf("plain@file", "other@file"))
	b.router("plain@file", "Path(`/plain`)", "plain")
	b.router("own@file", "Path(`/own`)", "own")
	b.router("prefix@file", "Path(`/prefix`)", "plain", "prefix")
	b.router("weighted@file", "Path(`/weighted`)", "weighted")
	b.router("mirroring@file", "Path(`/mirroring`)", "mirroring")
	b.router("failover@file", "Path(`/failover`)", "failover")
	b.router("detailed@file", "Path(`/detailed`)",
		"plain").Observability = &dynamic.RouterObservability{TraceVerbosity: "detailed"}
	b.all()
	for name := range b.config.HTTP.Routers.Keys() {
		path := name[:len(name)-len("@file")]
		record := &telemetry.Record{}
		r := httptest.NewRequestWithContext(telemetry.WithRecord(t.Context(), record), http.MethodGet, "http://x.test/"+path,
			http.NoBody)
		b.target.Handler("web").ServeHTTP(httptest.NewRecorder(), r)
		apart, begun := noted[name]
		if want := path == "plain" || path == "detailed"; !begun || apart != want {
			t.Errorf("%s: begun is %t, apart is %t; the status is %d, %s", name, begun, apart, record.Status, record.Reason)
		}
	}
}
