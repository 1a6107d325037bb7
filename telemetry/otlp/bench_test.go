package otlp_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry/otlp"
	"github.com/sluiceproxy/sluice/telemetry/tracing"
)

// BenchmarkSampled is all that a sampled request with one try costs, until a collector has it.
func BenchmarkSampled(b *testing.B) {
	const requests = 400
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
	}))
	defer server.Close()
	var config static.Tracing
	config.SetDefaults()
	b.ReportAllocs()
	var used time.Duration
	for b.Loop() {
		b.StopTimer()
		exporter, err := otlp.Spans(b.Context(), nil, &static.OTLPHTTP{Endpoint: server.URL})
		if err != nil {
			b.Fatal(err)
		}
		made, err := tracing.New(config, exporter, &lines{})
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		began := time.Now()
		for range requests {
			request(made, "curl/8.5.0")
		}
		err = made.Shutdown(b.Context())
		used += time.Since(began)
		if err != nil || made.Dropped() > 0 {
			b.Fatalf("error %v, %d spans are dropped", err, made.Dropped())
		}
	}
	b.ReportMetric(float64(used.Nanoseconds())/float64(b.N)/requests, "ns/request")
}
