package adaptiveconcurrency_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest/rig"
	"github.com/sluiceproxy/sluice/telemetry"
)

// one is a definition with a limit of 1 and no queue.
func one() dynamic.AdaptiveConcurrency {
	config := defaults()
	config.Min, config.Max, config.QueueTimeout = 1, 1, 0
	return config
}

// TestRefusal compares the whole answer with the documentation, of a request within another.
func TestRefusal(t *testing.T) {
	m, step := build(t, one())
	w, record := httptest.NewRecorder(), new(telemetry.Record)
	var handler http.Handler
	handler = step.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if _, levels := step.Status(); levels["in_flight"] != 1 {
			t.Errorf("it stands at %v", levels)
		}
		handler.ServeHTTP(w, middlewaretest.Request(t, "GET /").WithContext(telemetry.WithRecord(t.Context(), record)))
	}))
	handler.ServeHTTP(new(middlewaretest.Writer), middlewaretest.Request(t, "GET /"))
	if w.Code != 503 || w.Header().Get("Retry-After") != "1" || w.Body.String() != "Service Unavailable\n" {
		t.Errorf("answered %d %v %q", w.Code, w.Header(), w.Body)
	}
	if want := "middleware m@file: the limit of requests in progress is reached"; record.Reason !=
		want || record.Code != telemetry.CodeSaturated {
		t.Errorf("recorded %q, %q", record.Code, record.Reason)
	}
	if m.Counts()["refused"] != 1 {
		t.Errorf("counts %v", m.Counts())
	}
}

// TestStreamsDoNotCount has streams within a request that reaches the limit.
func TestStreamsDoNotCount(t *testing.T) {
	for name, r := range map[string]*http.Request{
		"upgrade":         middlewaretest.Request(t, "GET /", "Connection: upgrade", "Upgrade: websocket"),
		"gRPC":            middlewaretest.Request(t, "POST /", "Content-Type: application/grpc", "Content-Length: 0"),
		"accepted events": middlewaretest.Request(t, "GET /", "Accept: text/event-stream"),
		"events":          middlewaretest.Request(t, "GET /events"),
	} {
		_, step := build(t, one())
		inner := httptest.NewRecorder()
		var handler http.Handler
		handler = step.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/inner" {
				return
			}
			if r.URL.Path == "/events" {
				w.Header().Set("Content-Type", "text/event-stream")
				w.WriteHeader(http.StatusOK)
			}
			handler.ServeHTTP(inner, middlewaretest.Request(t, "GET /inner"))
		}))
		handler.ServeHTTP(httptest.NewRecorder(), r)
		if _, levels := step.Status(); inner.Code != http.StatusOK || levels["in_flight"] != 0 {
			t.Errorf("%s: %d, it stands at %v", name, inner.Code, levels)
		}
	}
}

// TestCounted has requests within one that reaches the limit: one with a body of unknown length is refused, and one of
// the class critical is not.
func TestCounted(t *testing.T) {
	for critical, want := range map[bool]int{false: 503, true: 200} {
		_, step := build(t, one())
		inner := httptest.NewRecorder()
		var handler http.Handler
		handler = step.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/inner" {
				r := middlewaretest.Request(t, "POST /inner", "Transfer-Encoding: chunked")
				record := &telemetry.Record{Critical: critical}
				handler.ServeHTTP(inner, r.WithContext(telemetry.WithRecord(t.Context(), record)))
			}
		}))
		handler.ServeHTTP(httptest.NewRecorder(), middlewaretest.Request(t, "GET /"))
		if _, levels := step.Status(); inner.Code != want || levels["in_flight"] != 0 {
			t.Errorf("critical %v: %d, it stands at %v", critical, inner.Code, levels)
		}
	}
}

// TestClientsThatLeave has a service that never answers: the time until clients leave counts as its latency.
func TestClientsThatLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, step := build(t, defaults())
		handler := step.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			telemetry.RecordFrom(r.Context()).Tries++
			<-r.Context().Done()
		}))
		for range 4 {
			for range 5 {
				ctx, cancel := context.WithTimeout(telemetry.WithRecord(t.Context(), new(telemetry.Record)), time.Second)
				defer cancel()
				go handler.ServeHTTP(new(middlewaretest.Writer), middlewaretest.Request(t, "GET /").WithContext(ctx))
			}
			pause(1001 * time.Millisecond)
		}
		if _, levels := step.Status(); levels["rtt_short_us"] < 900_000 || levels["rtt_short_us"] > 1_100_000 {
			t.Errorf("it stands at %v", levels)
		}
	})
}

// TestQueue has requests wait in order, and one leave.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := one()
		config.QueueTimeout = 1e9
		m, step := build(t, config)
		release, ended := make(chan struct{}), make(chan string, 10)
		handler := step.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			<-release
			ended <- r.URL.Path
		}))
		begin := func(ctx context.Context, path string) *telemetry.Record {
			record := new(telemetry.Record)
			r := middlewaretest.Request(t, "GET "+path).WithContext(telemetry.WithRecord(ctx, record))
			go handler.ServeHTTP(new(middlewaretest.Writer), r)
			synctest.Wait()
			return record
		}
		ctx, leave := context.WithCancel(t.Context())
		begin(t.Context(), "/0")
		begin(t.Context(), "/1")
		left := begin(ctx, "/2")
		leave()
		synctest.Wait()
		late := begin(t.Context(), "/3")
		for i, path := range []string{"/0", "/1"} {
			release <- struct{}{}
			if got := <-ended; got != path {
				t.Errorf("request %d is %s", i, got)
			}
			synctest.Wait()
		}
		_ = late
		release <- struct{}{}
		if got := <-ended; got != "/3" {
			t.Errorf("the last request is %s", got)
		}
		synctest.Wait()
		if left.Status != telemetry.StatusClientClosedRequest || m.Counts()["queued"] != 3 || m.Counts()["refused"] != 0 {
			t.Errorf("recorded %d, counts %v", left.Status, m.Counts())
		}
	})
}

// TestAPanicIsCountedOut has a handler panic: the server sees it, and the request does not count any more.
func TestAPanicIsCountedOut(t *testing.T) {
	_, step := build(t, one())
	handler := step.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	for range 3 {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the server sees no panic")
				}
			}()
			handler.ServeHTTP(new(middlewaretest.Writer), middlewaretest.Request(t, "GET /"))
		}()
	}
	if _, levels := step.Status(); levels["in_flight"] != 0 {
		t.Errorf("it stands at %v", levels)
	}
}

// TestOwners have limits of their own, unless the definition is shared.
func TestOwners(t *testing.T) {
	config := one()
	for _, config.Shared = range []bool{false, true} {
		m, _ := build(t, config)
		if same := m.For("a") == m.For("b"); same != config.Shared {
			t.Errorf("shared %v: the same step for all: %v", config.Shared, same)
		}
	}
}

// TestOnTheWire sends requests through an entrypoint to a service.
func TestOnTheWire(t *testing.T) {
	rig.Matrix(t, func(t *testing.T, client, upstream string) {
		_, step := build(t, defaults())
		g := rig.New(t, rig.Setup{Wrap: step.Wrap, Upstream: upstream, Endpoint: func(w http.ResponseWriter,
			r *http.Request,
		) {
			var body bytes.Buffer
			_, _ = body.ReadFrom(r.Body)
			w.Header().Set("Trailer", "X-Trailer")
			_, _ = w.Write(body.Bytes())
			w.Header().Set("X-Trailer", "end")
		}})
		for range 30 {
			response, body, err := g.Do(client, g.Request(http.MethodPost, "/", strings.NewReader("a body")))
			if err != nil || response.StatusCode != 200 || body != "a body" || response.Trailer.Get("X-Trailer") != "end" {
				t.Fatalf("got %+v %q, %v", response, body, err)
			}
			g.Record()
		}
		if _, levels := step.Status(); levels["in_flight"] != 0 {
			t.Errorf("it stands at %v", levels)
		}
	})
}

func BenchmarkAdaptiveConcurrency(b *testing.B) {
	_, step := build(b, defaults())
	handler := step.Wrap(quick{})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		record := &telemetry.Record{OriginStatus: http.StatusNoContent}
		r, w := middlewaretest.Request(b, "GET /"), new(middlewaretest.Writer)
		r = r.WithContext(telemetry.WithRecord(b.Context(), record))
		for pb.Next() {
			record.Tries = 0
			handler.ServeHTTP(w, r)
		}
	})
}

// quick keeps no part of a request.
type quick struct{}

func (quick) NoRetain() {}

func (quick) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	telemetry.RecordFrom(r.Context()).Tries++
	w.WriteHeader(http.StatusNoContent)
}

// TestLate has a request wait longer than queueTimeout.
func TestLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := one()
		config.QueueTimeout = 1e9
		m, step := build(t, config)
		handler := step.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { pause(2 * time.Second) }))
		go handler.ServeHTTP(new(middlewaretest.Writer), middlewaretest.Request(t, "GET /"))
		synctest.Wait()
		start, w, record := time.Now(), new(middlewaretest.Writer), new(telemetry.Record)
		handler.ServeHTTP(w, middlewaretest.Request(t, "GET /").WithContext(telemetry.WithRecord(t.Context(), record)))
		if w.Status != 503 || time.Since(start) != time.Second || !strings.Contains(record.Reason, "queueTimeout") ||
			m.Counts()["refused"] != 1 {
			t.Errorf("%d after %v, %q, counts %v", w.Status, time.Since(start), record.Reason, m.Counts())
		}
		pause(time.Second)
	})
}
