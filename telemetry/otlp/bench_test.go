package otlp_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry/otlp"
	"github.com/sluiceproxy/sluice/telemetry/tracing"
)

// BenchmarkSampled is all that a sampled request with one try costs, until a collector has it: one to which
// batches are compressed, and one on a loopback address, to which they are not.
func BenchmarkSampled(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
	}))
	defer server.Close()
	b.Run("loopback", func(b *testing.B) { benchmarkSampled(b, server.URL) })
	b.Run("compressed", func(b *testing.B) { benchmarkSampled(b, strings.Replace(server.URL, "127.0.0.1", "0.0.0.0", 1)) })
}

func benchmarkSampled(b *testing.B, endpoint string) {
	const requests = 400
	var config static.Tracing
	config.SetDefaults()
	b.ReportAllocs()
	var used time.Duration
	for b.Loop() {
		b.StopTimer()
		exporter, err := otlp.Spans(b.Context(), nil, &static.OTLPHTTP{Endpoint: endpoint})
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
