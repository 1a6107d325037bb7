package metrics

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// everything shows all levels.
func everything() Options {
	return Options{EntryPoints: true, Routers: true, Services: true}
}

func TestRequestsAreCountedByBoundedLabels(t *testing.T) {
	metrics := New(Options{EntryPoints: true})
	web := metrics.Entrypoint("web")
	for _, request := range []Request{
		{Status: 200, Method: "GET", Protocol: "http"},
		{Status: 200, Method: "GET", Protocol: "http"},
		{Status: 404, Method: "BREW", Protocol: "http"},
		{Status: 404, Method: "TEA", Protocol: "nonsense"},
		{Status: 101, Method: "GET", Protocol: "websocket"},
		{Status: 70000, Method: "POST", Protocol: "sse"},
		{Status: -1, Method: "POST", Protocol: "sse"},
	} {
		web.Count(&request)
	}
	web.Opened()
	web.Opened()
	web.Closed()
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

// TestServicesAreCountedByWhatTheyAnswered demands that a middleware which changes a response does not change
// what is counted for the service, and that each level has its own durations.
func TestServicesAreCountedByWhatTheyAnswered(t *testing.T) {
	metrics := New(everything())
	metrics.Entrypoint("web").Count(&Request{
		Method: "POST", Protocol: "http", Status: 200, OriginStatus: 503, BytesSent: 20, OriginBytes: 300, BytesReceived: 7,
		Duration: 2 * time.Second, ServiceDuration: 200 * time.Millisecond,
		Router: metrics.Router("a@file", "s@file"), Service: metrics.Service("s@file"),
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
	web, request := counted(map[string]string{"tenant": "X-Tenant", "stage": "X-Stage"})
	web.Count(request)
	if allocations := testing.AllocsPerRun(100, func() { web.Count(request) }); allocations != 0 {
		t.Errorf("%v allocations, want 0", allocations)
	}
}

func TestAMissingSeriesCountsNothing(*testing.T) {
	var none *Series
	none.add(&observation{combination: -1})
}

// counted returns a request that is counted on three levels.
func counted(labels map[string]string) (*Entrypoint, *Request) {
	options := everything()
	options.HeaderLabels = labels
	metrics := New(options)
	return metrics.Entrypoint("web"), &Request{
		Status: 200, Method: "GET", Protocol: "http", BytesSent: 128, OriginStatus: 200,
		OriginBytes: 128,
		Duration:    700 * time.Microsecond, ServiceDuration: 600 * time.Microsecond,
		Header: http.Header{"X-Tenant": {"blue"}, "X-Stage": {"test"}},
		TLS:    &tls.ConnectionState{Version: tls.VersionTLS13, CipherSuite: tls.TLS_AES_128_GCM_SHA256},
		Router: metrics.Router("shop@file", "shop@file"), Service: metrics.Service("shop@file"),
	}
}

func BenchmarkCount(b *testing.B) {
	for name, prepare := range map[string]func() (*Entrypoint, *Request){
		"plain": func() (*Entrypoint, *Request) {
			web, request := counted(nil)
			request.TLS = nil
			return web, request
		},
		"tls":     func() (*Entrypoint, *Request) { return counted(nil) },
		"headers": func() (*Entrypoint, *Request) { return counted(map[string]string{"tenant": "X-Tenant"}) },
	} {
		b.Run(name, func(b *testing.B) {
			web, request := prepare()
			b.ReportAllocs()
			for b.Loop() {
				web.Count(request)
			}
		})
		b.Run(name+"/parallel", func(b *testing.B) {
			web, request := prepare()
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					web.Count(request)
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

func scrape(t *testing.T, metrics *Metrics) string {
	t.Helper()
	recorder := httptest.NewRecorder()
	metrics.Handler().ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics",
		http.NoBody))
	if recorder.Code != http.StatusOK {
		t.Fatalf("status %d", recorder.Code)
	}
	return recorder.Body.String()
}
