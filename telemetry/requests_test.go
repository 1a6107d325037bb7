package telemetry

import (
	"crypto/tls"
	"net/http"
	"strings"
	"testing"
	"time"
)

// everything shows all levels.
func everything() MetricsOptions {
	return MetricsOptions{EntryPoints: true, Routers: true, Services: true}
}

func TestRequestsAreCountedByBoundedLabels(t *testing.T) {
	metrics := NewMetrics(MetricsOptions{EntryPoints: true})
	requests := metrics.Entrypoint("web")
	for _, record := range []Record{
		{Status: 200, Method: "GET", Protocol: "http"},
		{Status: 200, Method: "GET", Protocol: "http"},
		{Status: 404, Method: "BREW", Protocol: "http"},
		{Status: 404, Method: "TEA", Protocol: "nonsense"},
		{Status: 101, Method: "GET", Protocol: "websocket"},
		{Status: 70000, Method: "POST", Protocol: "sse"},
		{Status: -1, Method: "POST", Protocol: "sse"},
	} {
		record.Observe = ObserveMetrics
		requests.Finished(&record)
	}
	requests.Opened()
	requests.Opened()
	requests.Closed()
	demand(t, scrape(t, metrics),
		`traefik_entrypoint_requests_total{code="200",entrypoint="web",method="GET",protocol="http"} 2`,
		`traefik_entrypoint_requests_total{code="404",entrypoint="web",method="EXTENSION_METHOD",protocol="http"} 2`,
		`traefik_entrypoint_requests_total{code="101",entrypoint="web",method="GET",protocol="websocket"} 1`,
		`traefik_entrypoint_requests_total{code="0",entrypoint="web",method="POST",protocol="sse"} 2`,
		`traefik_open_connections{entrypoint="web",protocol="TCP"} 1`)
}

func TestEveryMethodKeepsItsName(t *testing.T) {
	for i := range methodCount {
		if at := methodIndex(methodName(i)); at != i {
			t.Errorf("%s is counted as %s", methodName(i), methodName(at))
		}
		for protocol := range protocolCount {
			key := shardKey(i, protocol, 418)
			if keyMethod(key) != i || keyProtocol(key) != protocol || keyStatus(key) != 418 {
				t.Errorf("key %d is not read as it was made", key)
			}
		}
	}
}

func TestOnlyWhatIsObservedIsCounted(t *testing.T) {
	metrics := NewMetrics(everything())
	record := Record{
		Method: "GET", Status: 200, Observe: ^ObserveMetrics,
		RouterSeries: metrics.Router("a@file", "s@file"), ServiceSeries: metrics.Service("s@file"),
	}
	metrics.Entrypoint("web").Finished(&record)
	if page := scrape(t, metrics); strings.Contains(page, "requests_total") {
		t.Errorf("a request was counted that nobody observes:\n%s", page)
	}
}

// TestServicesAreCountedByWhatTheyAnswered demands that a middleware which changes a response does not change
// what is counted for the service, and that each level has its own durations.
func TestServicesAreCountedByWhatTheyAnswered(t *testing.T) {
	metrics := NewMetrics(everything())
	metrics.Entrypoint("web").Finished(&Record{
		Method: "POST", Protocol: "http", Status: 200, OriginStatus: 503, BytesSent: 20, OriginBytes: 300, BytesReceived: 7,
		Duration: 2 * time.Second, ServiceDuration: 200 * time.Millisecond, Observe: ObserveMetrics,
		RouterSeries: metrics.Router("a@file", "s@file"), ServiceSeries: metrics.Service("s@file"),
		TLS: &tls.ConnectionState{Version: tls.VersionTLS13, CipherSuite: tls.TLS_AES_128_GCM_SHA256},
	})
	demand(t, scrape(t, metrics),
		`traefik_entrypoint_requests_total{code="200",entrypoint="web",method="POST",protocol="http"} 1`,
		`traefik_entrypoint_request_duration_seconds_bucket{code="200",entrypoint="web",method="POST",protocol="http",le="1.2"} 0`,
		`traefik_entrypoint_request_duration_seconds_bucket{code="200",entrypoint="web",method="POST",protocol="http",le="5"} 1`,
		`traefik_entrypoint_request_duration_seconds_bucket{code="200",entrypoint="web",method="POST",protocol="http",le="+Inf"} 1`,
		`traefik_entrypoint_request_duration_seconds_sum{code="200",entrypoint="web",method="POST",protocol="http"} 2`,
		`traefik_entrypoint_requests_tls_total{entrypoint="web",tls_cipher="TLS_AES_128_GCM_SHA256",tls_version="1.3"} 1`,
		`traefik_router_requests_total{code="200",method="POST",protocol="http",router="a@file",service="s@file"} 1`,
		`traefik_router_requests_bytes_total{code="200",method="POST",protocol="http",router="a@file",service="s@file"} 7`,
		`traefik_router_responses_bytes_total{code="200",method="POST",protocol="http",router="a@file",service="s@file"} 20`,
		`traefik_router_requests_tls_total{router="a@file",service="s@file",tls_cipher="TLS_AES_128_GCM_SHA256",tls_version="1.3"} 1`,
		`traefik_service_requests_total{code="503",method="POST",protocol="http",service="s@file"} 1`,
		`traefik_service_request_duration_seconds_bucket{code="503",method="POST",protocol="http",service="s@file",le="0.1"} 0`,
		`traefik_service_request_duration_seconds_bucket{code="503",method="POST",protocol="http",service="s@file",le="0.3"} 1`,
		`traefik_service_request_duration_seconds_count{code="503",method="POST",protocol="http",service="s@file"} 1`,
		`traefik_service_requests_bytes_total{code="503",method="POST",protocol="http",service="s@file"} 7`,
		`traefik_service_responses_bytes_total{code="503",method="POST",protocol="http",service="s@file"} 300`,
		`traefik_service_requests_tls_total{service="s@file",tls_cipher="TLS_AES_128_GCM_SHA256",tls_version="1.3"} 1`)
}

func TestCountingARequestAllocatesNothing(t *testing.T) {
	requests, record := observed(map[string]string{"tenant": "X-Tenant", "stage": "X-Stage"})
	requests.Finished(record)
	if allocations := testing.AllocsPerRun(100, func() { requests.Finished(record) }); allocations != 0 {
		t.Errorf("%v allocations, want 0", allocations)
	}
}

func TestAMissingSeriesCountsNothing(*testing.T) {
	var none *Series
	none.add(&observation{combination: -1})
}

// observed returns a request that is counted on three levels.
func observed(labels map[string]string) (*Requests, *Record) {
	options := everything()
	options.HeaderLabels = labels
	metrics := NewMetrics(options)
	return metrics.Entrypoint("web"), &Record{
		Status: 200, Method: "GET", Protocol: "http", Observe: ObserveMetrics, BytesSent: 128, OriginStatus: 200,
		OriginBytes: 128,
		Duration:    700 * time.Microsecond, ServiceDuration: 600 * time.Microsecond,
		RequestHeader: http.Header{"X-Tenant": {"blue"}, "X-Stage": {"test"}},
		TLS:           &tls.ConnectionState{Version: tls.VersionTLS13, CipherSuite: tls.TLS_AES_128_GCM_SHA256},
		RouterSeries:  metrics.Router("shop@file", "shop@file"), ServiceSeries: metrics.Service("shop@file"),
	}
}

func BenchmarkFinished(b *testing.B) {
	for name, prepare := range map[string]func() (*Requests, *Record){
		"plain": func() (*Requests, *Record) {
			requests, record := observed(nil)
			record.TLS = nil
			return requests, record
		},
		"tls":     func() (*Requests, *Record) { return observed(nil) },
		"headers": func() (*Requests, *Record) { return observed(map[string]string{"tenant": "X-Tenant"}) },
	} {
		b.Run(name, func(b *testing.B) {
			requests, record := prepare()
			b.ReportAllocs()
			for b.Loop() {
				requests.Finished(record)
			}
		})
		b.Run(name+"/parallel", func(b *testing.B) {
			requests, record := prepare()
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					requests.Finished(record)
				}
			})
		})
	}
}

// demand fails for each line that the page lacks.
func demand(t *testing.T, page string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(page, line+"\n") {
			t.Errorf("the page lacks %s", line)
		}
	}
	if t.Failed() {
		for line := range strings.Lines(page) {
			if strings.HasPrefix(line, "traefik_") || strings.HasPrefix(line, "sluice_") {
				t.Log(strings.TrimSpace(line))
			}
		}
	}
}
