package metrics

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// TestPageIsCompressed sends the requests of different clients.
func TestPageIsCompressed(t *testing.T) {
	metrics := busy(t, everything())
	for accepts, compressed := range map[string]bool{
		"": false, "gzip": true, "br;q=1.0, gzip; q=0.5": true, "gzip;q=0": false, "gzip; q = 0.00": false,
		"deflate, br": false,
	} {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody)
		request.Header.Set("Accept-Encoding", accepts)
		recorder := httptest.NewRecorder()
		metrics.Handler().ServeHTTP(recorder, request)
		var body io.Reader = recorder.Body
		if got := recorder.Header().Get("Content-Encoding"); (got == "gzip") != compressed || got != "" && !compressed {
			t.Errorf("%q gets %q", accepts, got)
			continue
		}
		if compressed {
			unzipped, err := gzip.NewReader(body)
			if err != nil {
				t.Fatal(err)
			}
			body = unzipped
		}
		page, err := io.ReadAll(body)
		if err != nil || !strings.Contains(string(page), "traefik_service_requests_total{") ||
			!strings.Contains(string(page), "go_goroutines ") {
			t.Errorf("%q: %d bytes, %v", accepts, len(page), err)
		}
		if recorder.Header().Get("Vary") == "" || !strings.HasPrefix(recorder.Header().Get("Content-Type"),
			"text/plain; version=0.0.4") {
			t.Errorf("%q gets the header %v", accepts, recorder.Header())
		}
	}
}

// TestMetricsAreFilteredByName sends requests as promhttp's documentation has them.
func TestMetricsAreFilteredByName(t *testing.T) {
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet,
		"/metrics?name%5B%5D=traefik_service_requests_total", http.NoBody)
	recorder := httptest.NewRecorder()
	busy(t, everything()).Handler().ServeHTTP(recorder, request)
	if page := recorder.Body.String(); !strings.Contains(page, "traefik_service_requests_total{") ||
		strings.Contains(page, "go_goroutines") {
		t.Errorf("the page is\n%s", page)
	}
}

// asProtobuf returns a request as of a Prometheus that accepts native histograms.
func asProtobuf(t testing.TB) *http.Request {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody)
	request.Header.Set("Accept", string(expfmt.NewFormat(expfmt.TypeProtoDelim)))
	return request
}

// decoded returns the families of a page, by name.
func decoded(t *testing.T, metrics *Metrics) map[string]*dto.MetricFamily {
	t.Helper()
	recorder := httptest.NewRecorder()
	metrics.Handler().ServeHTTP(recorder, asProtobuf(t))
	decoder := expfmt.NewDecoder(recorder.Body, expfmt.ResponseFormat(recorder.Header()))
	found := map[string]*dto.MetricFamily{}
	for {
		family := &dto.MetricFamily{}
		if err := decoder.Decode(family); errors.Is(err, io.EOF) {
			return found
		} else if err != nil {
			t.Fatal(err)
		}
		if found[family.GetName()] != nil {
			t.Errorf("%s is there twice", family.GetName())
		}
		found[family.GetName()] = family
	}
}

// TestProtobufOfNothingHasNoFamilies demands that families without metrics are left out.
func TestProtobufOfNothingHasNoFamilies(t *testing.T) {
	metrics := New(everything())
	metrics.Router("idle@file", "idle@file")
	for name, family := range decoded(t, metrics) {
		if len(family.GetMetric()) == 0 || strings.Contains(name, "_requests_") {
			t.Errorf("%s has %d metrics", name, len(family.GetMetric()))
		}
	}
}

// discarded is a client that keeps nothing.
type discarded struct{ header http.Header }

func (d discarded) Header() http.Header         { return d.header }
func (d discarded) WriteHeader(int)             {}
func (d discarded) Write(b []byte) (int, error) { return len(b), nil }

func BenchmarkPagesOf10000Routers(b *testing.B) {
	handler := manyRouters().Handler()
	text := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/metrics", http.NoBody)
	for name, request := range map[string]*http.Request{"text": text, "protobuf": asProtobuf(b)} {
		for _, encoding := range []string{"identity", "gzip"} {
			b.Run(name+"/"+encoding, func(b *testing.B) {
				request.Header.Set("Accept-Encoding", encoding)
				b.ReportAllocs()
				before := processorTime(b)
				for b.Loop() {
					handler.ServeHTTP(discarded{http.Header{}}, request)
				}
				b.ReportMetric(float64((processorTime(b)-before).Milliseconds())/float64(b.N), "cpu-ms/op")
			})
		}
	}
}

// processorTime returns the CPU time of this process.
func processorTime(tb testing.TB) time.Duration {
	tb.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
