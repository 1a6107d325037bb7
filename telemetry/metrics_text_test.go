package telemetry

import (
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// TestTextSaysWhatIsGathered demands that the page of text, which is written without what gatherers return, has the same metrics.
func TestTextSaysWhatIsGathered(t *testing.T) {
	metrics := odd(t, map[string]string{"tenant": "X-Tenant", "a_side": "X-Side"})
	parser := expfmt.NewTextParser(model.LegacyValidation)
	read, err := parser.TextToMetricFamilies(strings.NewReader(scrape(t, metrics)))
	if err != nil {
		t.Fatal(err)
	}
	want := gathered(t, metrics.Gatherer())
	for name, family := range want {
		if strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") {
			continue
		}
		if got, want := spelled(read[name]), spelled(family); !slices.Equal(got, want) {
			t.Errorf("%s:\n%s\nwant:\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if read[name].GetHelp() != family.GetHelp() || read[name].GetType() != family.GetType() {
			t.Errorf("%s: %s %q, want %s %q", name, read[name].GetType(), read[name].GetHelp(), family.GetType(), family.GetHelp())
		}
	}
	for name := range read {
		if want[name] == nil {
			t.Errorf("%s is not gathered", name)
		}
	}
}

// odd returns metrics of requests that took all kinds of times, of owners with all kinds of names.
func odd(t *testing.T, labels map[string]string) *Metrics {
	t.Helper()
	options := everything()
	options.HeaderLabels = labels
	options.Pushed = &MetricsView{Buckets: []float64{.2, 7}} // Counted, and not on the page.
	metrics := busy(t, options)
	metrics.Router("idle@file", "goods@file")
	metrics.CountPools(slices.Values([]PoolStanding{{Service: "a\"b\\c\nd@file", Endpoints: map[string]int{"serving": 3}, InFlight: 1 << 40}}))
	for i, name := range []string{"shop@file", "a\"b\\c\nd@file", "\xff@file", strings.Repeat("long", 100)} {
		metrics.Entrypoint("web").Finished(&Record{
			Method: "POST", Protocol: "websocket", Status: 200 + i, Duration: time.Duration(i) * time.Second, Observe: ObserveMetrics,
			BytesReceived: 1 << 50, BytesSent: 7, RequestHeader: http.Header{"X-Tenant": {name}}, TLS: &tls.ConnectionState{Version: tls.VersionTLS13, CipherSuite: 0x1301},
			RouterSeries: metrics.Router(name, "goods@file"), ServiceSeries: metrics.Service(name), ServiceDuration: time.Hour,
		})
	}
	for i := range 1000 { // Neighbouring buckets, with different counts and with gaps.
		metrics.Entrypoint("other").Finished(&Record{
			Method: "GET", Protocol: "http", Status: 200, Duration: time.Duration(i*i%9_000) * time.Millisecond, Observe: ObserveMetrics,
		})
	}
	return metrics
}

// spelled returns what a family says that a page of text can say, in an order of its own.
func spelled(family *dto.MetricFamily) []string {
	var all []string
	for _, metric := range family.GetMetric() {
		labels := []string{}
		for _, label := range metric.GetLabel() {
			labels = append(labels, fmt.Sprintf("%s=%q", label.GetName(), label.GetValue()))
		}
		slices.Sort(labels)
		line := fmt.Sprint(labels, metric.GetCounter().GetValue(), metric.GetGauge().GetValue())
		if h := metric.GetHistogram(); h != nil {
			line += fmt.Sprint(" ", h.GetSampleCount(), h.GetSampleSum())
			for _, bucket := range h.GetBucket() {
				if !math.IsInf(bucket.GetUpperBound(), 1) {
					line += fmt.Sprint(" ", bucket.GetUpperBound(), ":", bucket.GetCumulativeCount())
				} else if bucket.GetCumulativeCount() != h.GetSampleCount() {
					line += " and more"
				}
			}
		}
		all = append(all, line)
	}
	slices.Sort(all)
	return all
}

// TestPageIsCompressed asks as different clients do.
func TestPageIsCompressed(t *testing.T) {
	metrics := busy(t, everything())
	for accepts, compressed := range map[string]bool{
		"": false, "gzip": true, "br;q=1.0, GZIP; q=0.5": true, "gzip;q=0": false, "gzip; q = 0.00": false, "deflate, br": false,
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
		if err != nil || !strings.Contains(string(page), "traefik_service_requests_total{") || !strings.Contains(string(page), "go_goroutines ") {
			t.Errorf("%q: %d bytes, %v", accepts, len(page), err)
		}
		if recorder.Header().Get("Vary") == "" || !strings.HasPrefix(recorder.Header().Get("Content-Type"), "text/plain; version=0.0.4") {
			t.Errorf("%q gets the header %v", accepts, recorder.Header())
		}
	}
}

// TestMetricsAreFilteredByName asks as promhttp's documentation has it.
func TestMetricsAreFilteredByName(t *testing.T) {
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics?name%5B%5D=traefik_service_requests_total", http.NoBody)
	recorder := httptest.NewRecorder()
	busy(t, everything()).Handler().ServeHTTP(recorder, request)
	if page := recorder.Body.String(); !strings.Contains(page, "traefik_service_requests_total{") || strings.Contains(page, "go_goroutines") {
		t.Errorf("the page is\n%s", page)
	}
}

// broken is a client that leaves before it has the last family.
type broken struct{ *httptest.ResponseRecorder }

func (b *broken) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("traefik_service_responses_bytes_total")) {
		return 0, io.ErrClosedPipe
	}
	return len(p), nil
}

// TestAPageThatWasNotReadShowsNothing demands that the last counts of what is gone wait for a reader who stays.
func TestAPageThatWasNotReadShowsNothing(t *testing.T) {
	for name, request := range map[string]*http.Request{
		"text": httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody), "protobuf": asProtobuf(t),
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(everything())
			s.request(s.Router("a@file", "old@file"), s.Service("old@file"))
			s.Handler().ServeHTTP(httptest.NewRecorder(), request)
			delete(s.routers, "a@file")
			delete(s.services, "old@file")
			s.Handler().ServeHTTP(&broken{httptest.NewRecorder()}, request)
			request.Method = http.MethodHead
			recorder := httptest.NewRecorder()
			s.Handler().ServeHTTP(recorder, request)
			if recorder.Code != http.StatusOK || strings.Contains(recorder.Body.String(), "traefik_router") {
				t.Errorf("HEAD gets %d and\n%s", recorder.Code, recorder.Body)
			}
			s.expect(t, "once more", "a@file", "old@file", 1, 1)
			s.expect(t, "when it is gone", "a@file", "old@file", -1, -1)
		})
	}
}

// TestNothingIsCountedUnseen demands that the last request of what is gone is shown to every reader, whenever it ends.
func TestNothingIsCountedUnseen(t *testing.T) {
	options := everything()
	options.Pushed = &MetricsView{Routers: true}
	s := newStage(options)
	router := s.Router("a@file", "old@file")
	pushed := func() float64 {
		for _, metric := range gathered(t, retell(s.Metrics))["traefik_router_requests_total"].GetMetric() {
			return metric.GetCounter().GetValue()
		}
		return -1
	}
	s.request(router, nil)
	if got := pushed(); got != 1 {
		t.Errorf("%v requests are pushed", got)
	}
	scrape(t, s.Metrics)
	delete(s.routers, "a@file")
	if got := pushed(); got != 1 {
		t.Errorf("%v requests are pushed once more", got)
	}
	s.request(router, nil) // The series is kept for the page, and then for who pushes.
	s.expect(t, "after a late request", "a@file", "old@file", 2, -1)
	s.expect(t, "after that", "a@file", "old@file", -1, -1)
	if got := pushed(); got != 2 {
		t.Errorf("%v requests are pushed after a late request", got)
	}
	if routers, _ := s.kept(); routers != 0 {
		t.Error("the series is kept")
	}

	// A request that ends after the series was looked at for the last time, and before it is dropped.
	dead := map[*Series]uint64{router: router.count()}
	s.request(router, nil)
	s.expect(t, "when it came back", "a@file", "old@file", 3, -1)
	dead[router] = router.count()
	router.gone.Store(false)
	s.request(router, nil)
	s.owners.drop(dead)
	s.expect(t, "after a request that was just in time", "a@file", "old@file", 4, -1)
}

// TestARouterThatCameBackStays demands that a router whose service has no endpoints of its own is not taken for one that has another service.
func TestARouterThatCameBackStays(t *testing.T) {
	s := newStage(everything())
	delete(s.routers, "a@file")
	router := s.Router("a@file", "weighted@file")
	scrape(t, s.Metrics)
	s.routers["a@file"] = true
	s.request(router, nil)
	for range 3 {
		s.expect(t, "when it exists", "a@file", "weighted@file", 1, -1)
	}
}

// pieces notes the largest piece of a page.
type pieces struct {
	*httptest.ResponseRecorder
	largest int
}

func (p *pieces) Write(b []byte) (int, error) {
	p.largest = max(p.largest, len(b))
	return len(b), nil
}

// TestPageIsWrittenAsItIsRead demands that a page of 10,000 routers is never in memory as a whole.
func TestPageIsWrittenAsItIsRead(t *testing.T) {
	p := &pieces{ResponseRecorder: httptest.NewRecorder()}
	crowd().Handler().ServeHTTP(p, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	if p.largest < textBlock || p.largest > 2*textBlock {
		t.Errorf("the largest piece has %d bytes", p.largest)
	}
}
