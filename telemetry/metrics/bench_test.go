package metrics

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// manyRouters returns metrics of 10,000 routers with a service each, all of which have had requests.
func manyRouters() *Metrics {
	metrics := New(everything())
	web := metrics.Entrypoint("web")
	for i := range 10_000 {
		name := fmt.Sprintf("router-%05d@kubernetescrd", i)
		web.Count(&Request{
			Method: "GET", Protocol: "http", Status: 200, Duration: time.Duration(i) * time.Microsecond,
			Router: metrics.Router(name, name), Service: metrics.Service(name),
		})
	}
	return metrics
}

func BenchmarkScrapeOf10000Routers(b *testing.B) {
	metrics := manyRouters()
	handler := metrics.Handler()
	request := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/metrics", http.NoBody)
	b.ReportAllocs()
	for b.Loop() {
		handler.ServeHTTP(httptest.NewRecorder(), request)
	}
}

func BenchmarkTrafficOf20Among10000Routers(b *testing.B) {
	metrics := manyRouters()
	var names []string
	for i := range 20 {
		names = append(names, fmt.Sprintf("router-%05d@kubernetescrd", i*100))
	}
	b.ReportAllocs()
	for b.Loop() {
		if len(metrics.Traffic(TrafficRouters, names)) != 20 {
			b.Fatal("routers are missing")
		}
	}
}
