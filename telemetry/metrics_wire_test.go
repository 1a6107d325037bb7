package telemetry

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"google.golang.org/protobuf/testing/protocmp"
)

// asProtobuf returns a request as of a Prometheus that wants native histograms.
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

// TestProtobufSaysWhatIsGathered demands that the page in protobuf, which is written without what gatherers return, has the same metrics to
// the last field.
func TestProtobufSaysWhatIsGathered(t *testing.T) {
	for name, labels := range map[string]map[string]string{
		"without header labels": nil, "with header labels": {"tenant": "X-Tenant", "a_side": "X-Side"},
	} {
		t.Run(name, func(t *testing.T) {
			metrics := odd(t, labels)
			got, want := decoded(t, metrics), gathered(t, metrics.Gatherer())
			for name, family := range want {
				if strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") || strings.HasPrefix(name, "promhttp_") {
					continue
				}
				if diff := gocmp.Diff(ordered(family), ordered(got[name]), protocmp.Transform()); diff != "" {
					t.Errorf("%s (-gathered +page):\n%s", name, diff)
				}
			}
			for name := range got {
				if want[name] == nil {
					t.Errorf("%s is not gathered", name)
				}
			}
		})
	}
}

// ordered orders the metrics of a family by their labels.
func ordered(family *dto.MetricFamily) *dto.MetricFamily {
	if family != nil {
		slices.SortFunc(family.Metric, func(a, b *dto.Metric) int { return cmp.Compare(fmt.Sprint(a.GetLabel()), fmt.Sprint(b.GetLabel())) })
	}
	return family
}

// TestProtobufOfNothingHasNoFamilies demands that families without metrics are left out.
func TestProtobufOfNothingHasNoFamilies(t *testing.T) {
	metrics := NewMetrics(everything())
	metrics.Router("idle@file", "idle@file")
	for name, family := range decoded(t, metrics) {
		if len(family.GetMetric()) == 0 || strings.Contains(name, "_requests_") {
			t.Errorf("%s has %d metrics", name, len(family.GetMetric()))
		}
	}
}

// TestPagesOfThousandsOfRoutersAreCheap demands that a page is written without many allocations.
func TestPagesOfThousandsOfRoutersAreCheap(t *testing.T) {
	handler := crowd().Handler()
	text := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody)
	for name, request := range map[string]*http.Request{"text": text, "protobuf": asProtobuf(t)} {
		if allocations := testing.AllocsPerRun(1, func() { handler.ServeHTTP(discarded{http.Header{}}, request) }); allocations > 50_000 {
			t.Errorf("%s: %v allocations for 10,000 routers and services", name, allocations)
		}
	}
}

// discarded is a client that keeps nothing.
type discarded struct{ header http.Header }

func (d discarded) Header() http.Header         { return d.header }
func (d discarded) WriteHeader(int)             {}
func (d discarded) Write(b []byte) (int, error) { return len(b), nil }

func BenchmarkPagesOf10000Routers(b *testing.B) {
	handler := crowd().Handler()
	text := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/metrics", http.NoBody)
	for name, request := range map[string]*http.Request{"text": text, "protobuf": asProtobuf(b)} {
		for _, encoding := range []string{"identity", "gzip"} {
			b.Run(name+"/"+encoding, func(b *testing.B) {
				request.Header.Set("Accept-Encoding", encoding)
				b.ReportAllocs()
				for b.Loop() {
					handler.ServeHTTP(discarded{http.Header{}}, request)
				}
			})
		}
	}
}
