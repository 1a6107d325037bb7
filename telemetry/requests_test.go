package telemetry_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/metrics"
)

// traffic returns the requests and bytes that were counted on each level.
func traffic(m *metrics.Metrics) map[string]metrics.Traffic {
	all := map[string]metrics.Traffic{}
	for level, kind := range map[string]metrics.TrafficKind{
		"entrypoint": metrics.TrafficEntrypoints, "router": metrics.TrafficRouters, "service": metrics.TrafficServices,
	} {
		for _, counted := range m.Traffic(kind, nil) {
			counted.Buckets = nil
			all[level] = counted
		}
	}
	return all
}

func TestRecordsAreCounted(t *testing.T) {
	for _, observe := range []telemetry.Observe{telemetry.ObserveMetrics, ^telemetry.ObserveMetrics} {
		m := metrics.New(metrics.Options{})
		record := &telemetry.Record{
			Method: "GET", Protocol: "http", Status: 404, OriginStatus: 503, BytesReceived: 3, BytesSent: 20, OriginBytes: 300,
			Duration: 2 * time.Second, ServiceDuration: time.Second, Observe: observe,
			RouterSeries: m.Router("a@file", "s@file"), ServiceSeries: m.Service("s@file"),
		}
		sink := telemetry.Requests{Entrypoint: m.Entrypoint("web")}
		sink.Finished(record)
		want := map[string]metrics.Traffic{
			"entrypoint": {Name: "web"}, "router": {Name: "a@file"}, "service": {Name: "s@file"},
		}
		if observe.Has(telemetry.ObserveMetrics) {
			want = map[string]metrics.Traffic{
				"entrypoint": {Name: "web", Requests: 1, ClientErrors: 1, BytesReceived: 3, BytesSent: 20, Seconds: 2},
				"router":     {Name: "a@file", Requests: 1, ClientErrors: 1, BytesReceived: 3, BytesSent: 20, Seconds: 2},
				"service":    {Name: "s@file", Requests: 1, ServerErrors: 1, BytesReceived: 3, BytesSent: 300, Seconds: 1},
			}
		}
		if diff := cmp.Diff(want, traffic(m)); diff != "" {
			t.Errorf("counted (-want +got):\n%s", diff)
		}
		if allocations := testing.AllocsPerRun(100, func() { sink.Finished(record) }); allocations != 0 {
			t.Errorf("%v allocations, want 0", allocations)
		}
	}
}

// TestConnectionsAreNoRequests counts a connection whose second endpoint took it, and a refused session.
func TestConnectionsAreNoRequests(t *testing.T) {
	m := metrics.New(metrics.Options{})
	sink := telemetry.Requests{Entrypoint: m.Entrypoint("web")}
	sink.Finished(&telemetry.Record{
		Protocol: telemetry.ProtocolTCP, Router: "db@file", Service: "s@file", Tries: 2, End: "client_eof",
		Observe: telemetry.ObserveMetrics,
	})
	sink.Finished(&telemetry.Record{
		Protocol: telemetry.ProtocolTCP, Router: "db@file", Service: "s@file", Tries: 3, Code: telemetry.CodeUnreachable,
		Observe: telemetry.ObserveMetrics,
	})
	sink.Finished(&telemetry.Record{
		Protocol: telemetry.ProtocolUDP, Router: "dns@file", Service: "s@file", DatagramsSent: 7, End: "idle",
		Observe: telemetry.ObserveMetrics,
	})
	sink.Finished(&telemetry.Record{Protocol: telemetry.ProtocolTCP, Router: "unobserved@file", End: "client_eof"})
	recorder := httptest.NewRecorder()
	m.Handler().ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	page := recorder.Body.String()
	for _, line := range []string{
		`sluice_tcp_connections_total{end="client_eof",entrypoint="web",router="db@file",service="s@file"} 1`,
		`sluice_tcp_connections_total{end="endpoint_unreachable",entrypoint="web",router="db@file",service="s@file"} 1`,
		`sluice_tcp_dial_errors_total{entrypoint="web",router="db@file",service="s@file"} 4`,
		`sluice_udp_datagrams_total{direction="sent",entrypoint="web",router="dns@file",service="s@file"} 7`,
	} {
		if !strings.Contains(page, line+"\n") {
			t.Errorf("the page lacks %s", line)
		}
	}
	if strings.Contains(page, "unobserved@file") {
		t.Error("a connection is counted whose router does not observe it")
	}
	if counted := traffic(m)["entrypoint"]; counted.Requests != 0 {
		t.Errorf("%d requests are counted of connections", counted.Requests)
	}
}

func BenchmarkRequests(b *testing.B) {
	m := metrics.New(metrics.Options{})
	record := &telemetry.Record{
		Method: "GET", Protocol: "http", Status: 200, OriginStatus: 200, BytesSent: 20, Duration: time.Millisecond,
		ServiceDuration: time.Millisecond, Observe: telemetry.ObserveMetrics,
		RouterSeries: m.Router("a@file", "s@file"), ServiceSeries: m.Service("s@file"),
	}
	sink := telemetry.Requests{Entrypoint: m.Entrypoint("web")}
	b.ReportAllocs()
	for b.Loop() {
		sink.Finished(record)
	}
}
