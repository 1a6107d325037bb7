package forward_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/forward"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/metrics"
)

// span keeps its attributes.
type span struct {
	name       string
	client     bool
	attributes map[string]any
	failure    string
	ended      int
	children   []*span
}

func (s *span) Child(name string, client bool) telemetry.Span {
	child := &span{name: name, client: client, attributes: map[string]any{}}
	s.children = append(s.children, child)
	return child
}

func (s *span) Set(key string, value any) { s.attributes[key] = value }

func (s *span) Traceparent() string { return "of " + s.name }

func (s *span) End(failure string) { s.failure, s.ended = failure, s.ended+1 }

// observed answers a request with a record that observes everything, and returns that and the answer.
func observed(t *testing.T, g *rig, record *telemetry.Record) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(telemetry.WithRecord(t.Context(), record), http.MethodGet, "/a?token=b",
		http.NoBody)
	w := httptest.NewRecorder()
	options := forward.Options{Service: "svc@file", Series: new(metrics.Series), Retry: statuses(t, "503")}
	forward.NewService(g.pool, options).ServeHTTP(w, r)
	return w
}

// Each try of a sampled request is a span, and its endpoint gets that span.
func TestSpansOfTries(t *testing.T) {
	for _, upstream := range []string{"h1", "h2c"} {
		t.Run(upstream, func(t *testing.T) {
			endpoints := newEndpoints(reads(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusServiceUnavailable)
			}), good)
			g := newServers(t, setup{upstream: upstream}, 2, endpoints)
			root := &span{}
			record := &telemetry.Record{Observe: telemetry.ObserveTrace, Span: root}
			w := observed(t, g, record)
			equal(t, "status", w.Code, http.StatusOK)
			equal(t, "spans", len(root.children), 2)
			received := endpoints.requests()
			for i, child := range root.children {
				equal(t, "span", []any{child.name, child.client, child.ended}, []any{"GET", true, 1})
				equal(t, "traceparent", received[i].Header.Get("Traceparent"), "of GET")
				full, _ := child.attributes["url.full"].(string)
				if !strings.HasSuffix(full, "/a") || !strings.Contains(full, "://127.0.0.1:") {
					t.Errorf("url.full %q", full)
				}
				for _, key := range []string{"server.address", "server.port", "http.request.method", "http.response.status_code"} {
					if child.attributes[key] == nil {
						t.Errorf("span %d does not have %s: %v", i, key, maps.Collect(maps.All(child.attributes)))
					}
				}
			}
			equal(t, "error types", []any{root.children[0].attributes["error.type"], root.children[1].attributes["error.type"]},
				[]any{"503", nil})
			equal(t, "failures", []any{root.children[0].failure, root.children[1].failure}, []any{"503", ""})
			equal(t, "resends", []any{
				root.children[0].attributes["http.request.resend_count"],
				root.children[1].attributes["http.request.resend_count"],
			}, []any{nil, 1})
		})
	}
}

// A method that a client has made up is no name of a span.
func TestSpanOfAnUnknownMethod(t *testing.T) {
	g := newServers(t, setup{}, 1, newEndpoints(good))
	root := &span{}
	record := &telemetry.Record{Observe: telemetry.ObserveTrace, Span: root}
	r := httptest.NewRequestWithContext(telemetry.WithRecord(t.Context(), record), "BREW", "/pot", http.NoBody)
	forward.NewService(g.pool, forward.Options{Service: "svc@file"}).ServeHTTP(httptest.NewRecorder(), r)
	equal(t, "spans", len(root.children), 1)
	attributes := root.children[0].attributes
	equal(t, "span",
		[]any{root.children[0].name, attributes["http.request.method"], attributes["http.request.method_original"]},
		[]any{"HTTP", "_OTHER", "BREW"})
}

// A record that is observed gets how long the service took, what the endpoint sent, and the series that counts it.
func TestObservedRecord(t *testing.T) {
	g := newServers(t, setup{}, 1, newEndpoints(good))
	record := &telemetry.Record{Observe: telemetry.ObserveMetrics | telemetry.ObserveHeaders}
	w := observed(t, g, record)
	if record.ServiceDuration <= 0 || record.ServiceSeries == nil {
		t.Errorf("record %+v", record)
	}
	equal(t, "origin", []any{record.OriginStatus, record.OriginBytes, record.OriginHeader.Get("X-Good")},
		[]any{200, int64(w.Body.Len()), "yes"})
	if member := memberOf(g.pool); record.EndpointURL != "http://"+member.Address() {
		t.Errorf("endpoint %q", record.EndpointURL)
	}
	unobserved := new(telemetry.Record)
	observed(t, g, unobserved)
	if unobserved.ServiceDuration != 0 || unobserved.ServiceSeries != nil || unobserved.EndpointURL != "" {
		t.Errorf("a record that is not observed is %+v", unobserved)
	}
}

// A span ends although the response breaks off, with the error.
func TestSpanOfABrokenResponse(t *testing.T) {
	g := newServers(t, setup{}, 1, newEndpoints(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("a part"))
		_ = http.NewResponseController(w).Flush()
		breaksOff(w, r)
	}))
	root := &span{}
	record := &telemetry.Record{Observe: telemetry.ObserveTrace, Span: root}
	func() {
		defer func() { _ = recover() }()
		observed(t, g, record)
	}()
	equal(t, "spans", len(root.children), 1)
	equal(t, "span", []any{root.children[0].ended, root.children[0].failure}, []any{1, loadbalancer.Broken.String()})
	equal(t, "code", record.Code, telemetry.CodeBroken)
}

// TestATraceApartFromTheHeader demands that the endpoint of each try gets a trace which the request's header does
// not have, once, and that the header stays as it is.
func TestATraceApartFromTheHeader(t *testing.T) {
	trace := telemetry.TraceContext{TraceID: [16]byte{0: 0xab, 15: 1}, SpanID: [8]byte{7: 0xcd}}
	const want = "00-ab000000000000000000000000000001-00000000000000cd-00"
	matrix(t, func(t *testing.T, s setup) {
		received := make(chan []string, 10)
		s.around = func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				record := telemetry.RecordFrom(r.Context())
				record.Trace, record.TraceApart = trace, true
				next.ServeHTTP(w, r)
				if _, found := r.Header["Traceparent"]; found {
					t.Error("the header of the request has changed")
				}
			})
		}
		g := newRig(t, s, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			received <- r.Header["Traceparent"]
		}))
		for _, body := range []string{"", "content", ""} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.url, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			answer, err := g.client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = answer.Body.Close()
			equal(t, "traceparent", <-received, []string{want})
		}
	})
}
