package circuitbreaker

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/telemetry"
)

// slowBody gives one byte per second, and then its end.
type slowBody struct {
	wait func(time.Duration)
	left int
}

// Read reads a byte.
func (b *slowBody) Read(p []byte) (int, error) {
	b.wait(time.Second)
	if b.left == 0 {
		return 0, io.EOF
	}
	b.left--
	return copy(p[:1], "x"), nil
}

// Close does nothing.
func (*slowBody) Close() error { return nil }

// eagerBody can be read without waiting as well.
type eagerBody struct{ slowBody }

// ReadNow reads what has come.
func (b *eagerBody) ReadNow(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	b.left--
	return copy(p[:1], "x"), nil
}

// timed is a request, and the part of its time that is a latency.
type timed struct {
	body bool
	// patience is when the client leaves, 0 for never.
	patience time.Duration
	serve    func(w http.ResponseWriter, r *http.Request, wait func(time.Duration))
	// want is the latency in milliseconds, -1 for none; counted is the number of counted responses.
	want    float64
	counted uint64
}

func TestLatencies(t *testing.T) {
	for name, test := range map[string]timed{
		"head": {false, 0, func(w http.ResponseWriter, _ *http.Request, wait func(time.Duration)) {
			wait(30 * time.Millisecond)
			w.WriteHeader(200)
		}, 30, 1},
		"no head": {false, 0, func(_ http.ResponseWriter, _ *http.Request, wait func(time.Duration)) {
			wait(30 * time.Millisecond)
		}, 30, 1},
		"a long stream": {false, 0, func(w http.ResponseWriter, _ *http.Request, wait func(time.Duration)) {
			wait(5 * time.Millisecond)
			_, _ = io.WriteString(w, "x")
			wait(30 * time.Second)
		}, 5, 1},
		"a hint before": {false, 0, func(w http.ResponseWriter, _ *http.Request, wait func(time.Duration)) {
			w.WriteHeader(103)
			wait(50 * time.Millisecond)
			w.WriteHeader(200)
		}, 50, 1},
		"an upload": {true, 0, func(w http.ResponseWriter, r *http.Request, wait func(time.Duration)) {
			_, _ = io.Copy(io.Discard, r.Body)
			wait(20 * time.Millisecond)
			w.WriteHeader(200)
		}, 20, 1},
		"an upload that is not read": {true, 0, func(w http.ResponseWriter, _ *http.Request, wait func(time.Duration)) {
			wait(20 * time.Millisecond)
			w.WriteHeader(200)
		}, 20, 1},
		"a client that leaves soon":       {false, 10 * time.Millisecond, leaves, -1, 0},
		"a client that leaves late":       {false, 2 * time.Second, leaves, 1984, 0},
		"a client that leaves its upload": {true, 2 * time.Second, leaves, -1, 0},
		"a client that leaves a response": {false, 2 * time.Second, func(w http.ResponseWriter, r *http.Request,
			_ func(time.Duration),
		) {
			w.WriteHeader(200)
			<-r.Context().Done()
			panic(http.ErrAbortHandler)
		}, 0, 1},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, test.run) })
	}
}

// leaves waits for the client to leave.
func leaves(_ http.ResponseWriter, r *http.Request, _ func(time.Duration)) { <-r.Context().Done() }

func (test timed) run(t *testing.T) {
	pause := func(d time.Duration) { later(t, d) }
	b := build(t, dynamic.CircuitBreaker{Expression: "LatencyAtQuantileMS(100.0) > 1000 && NetworkErrorRatio() > 2"},
		nil).For("o").(*breaker)
	r := middlewaretest.Request(t, "POST /")
	if test.body {
		r.Body, r.ContentLength = &slowBody{pause, 7}, 7
	}
	if test.patience > 0 {
		ctx, cancel := context.WithCancel(r.Context())
		time.AfterFunc(test.patience, cancel)
		r = r.WithContext(ctx)
	}
	func() {
		defer func() { _ = recover() }()
		b.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { test.serve(w, r, pause) })).
			ServeHTTP(new(middlewaretest.Writer), r)
	}()
	w := b.phase.Load().window
	got, responses := -1.0, uint64(0)
	for i := range w.counts.slots {
		if slot := w.counts.slots[i].Load(); slot != nil {
			responses += uint64(slot.counters[totalCount].Load())
		}
	}
	for range w.latencies.counting(b.now()) {
		got = w.quantile(b.now(), 100)
	}
	if got != test.want || responses != test.counted {
		t.Errorf("the latency is %v ms, want %v; %d responses count, want %d", got, test.want, responses, test.counted)
	}
}

func TestBodiesStayWhatTheyAre(t *testing.T) {
	b := build(t, dynamic.CircuitBreaker{Expression: everything}, nil).For("o").(*breaker)
	none := func(time.Duration) {}
	for name, body := range map[string]io.ReadCloser{
		"waits": &slowBody{none, 2}, "eager": &eagerBody{slowBody{none, 2}},
		"none": http.NoBody,
	} {
		r := middlewaretest.Request(t, "POST /")
		r.Body, r.ContentLength = body, 2
		b.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, eager := r.Body.(httpio.ReadyReader)
			if eager != (name == "eager") || (r.Body == http.NoBody) != (name == "none") {
				t.Errorf("%s: the body is a %T", name, r.Body)
			}
			if eager {
				if n, err := r.Body.(httpio.ReadyReader).ReadNow(make([]byte, 9)); n != 1 || err != nil {
					t.Errorf("read %d, %v", n, err)
				}
				if u, ok := r.Body.(readyUpload); !ok || u.last.Load() == 0 {
					t.Error("it was not noted")
				}
			}
			if _, err := io.ReadAll(r.Body); err != nil {
				t.Error(err)
			}
		})).ServeHTTP(new(middlewaretest.Writer), r)
	}
}

// TestHowRequestsEnd checks what counts as response and as network error if there is no response.
func TestHowRequestsEnd(t *testing.T) {
	left := func(_ http.ResponseWriter, r *http.Request) {
		telemetry.RecordFrom(r.Context()).Status = telemetry.StatusClientClosedRequest
	}
	for name, test := range map[string]struct {
		serve             http.HandlerFunc
		responses, errors uint64
		panics            bool
	}{
		"the client left": {left, 0, 0, false},
		"the endpoint broke off": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "x")
			telemetry.RecordFrom(r.Context()).Broken = true
			panic(http.ErrAbortHandler)
		}, 1, 1, true},
		"the client broke off": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "x")
			panic(http.ErrAbortHandler)
		}, 1, 0, true},
		"given up before the head": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 0, 0, true},
		"a defect":                 {func(http.ResponseWriter, *http.Request) { panic(errors.New("a defect")) }, 0, 0, true},
	} {
		b := build(t, dynamic.CircuitBreaker{Expression: everything}, nil).For("o").(*breaker)
		record := new(telemetry.Record)
		r := middlewaretest.Request(t, "GET /")
		r = r.WithContext(telemetry.WithRecord(t.Context(), record))
		func() {
			defer func() {
				cause := recover()
				if (cause != nil) != test.panics || name != "a defect" && test.panics && cause != any(http.ErrAbortHandler) {
					t.Errorf("%s: panics with %v", name, cause)
				}
			}()
			b.Wrap(test.serve).ServeHTTP(new(middlewaretest.Writer), r)
		}()
		w := b.phase.Load().window
		if n, failed := w.requests(b.now()), w.counts.sum(b.now(), networkCount); n != test.responses ||
			failed != test.errors {
			t.Errorf("%s: %d responses, %d errors", name, n, failed)
		}
	}
}

// splicer is a writer that can splice and flush.
type splicer struct {
	middlewaretest.Writer
	spliced, flushed string
}

// ReadFrom takes everything.
func (s *splicer) ReadFrom(from io.Reader) (int64, error) {
	body, err := io.ReadAll(from)
	s.spliced += string(body)
	return int64(len(body)), err
}

func (*splicer) Splices() bool { return true }

// FlushError fails.
func (s *splicer) FlushError() error {
	s.flushed = s.spliced
	return io.ErrClosedPipe
}

func TestWriterPassesEverythingOn(t *testing.T) {
	c := build(t, dynamic.CircuitBreaker{Expression: everything}, nil)
	w := new(splicer)
	c.Wrap(http.HandlerFunc(func(got http.ResponseWriter, _ *http.Request) {
		if s, ok := got.(interface{ Splices() bool }); !ok || !s.Splices() {
			t.Error("it does not splice")
		}
		if n, err := got.(io.ReaderFrom).ReadFrom(io.LimitReader(strings.NewReader("body"), 9)); n != 4 || err != nil {
			t.Errorf("read %d, %v", n, err)
		}
		if err := http.NewResponseController(got).Flush(); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("flushing gives %v", err)
		}
		if u, ok := got.(interface{ Unwrap() http.ResponseWriter }); !ok || u.Unwrap() != w {
			t.Error("the server's writer is not beneath")
		}
	})).ServeHTTP(w, middlewaretest.Request(t, "GET /"))
	if w.spliced != "body" || w.flushed != "body" {
		t.Errorf("spliced %q, flushed %q", w.spliced, w.flushed)
	}
	b := c.For("o").(*breaker)
	b.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if s, ok := w.(interface{ Splices() bool }); ok && s.Splices() {
			t.Error("it splices")
		}
		if _, _, err := http.NewResponseController(w).Hijack(); !errors.Is(err, http.ErrNotSupported) {
			t.Errorf("taking over gives %v", err)
		}
		w.WriteHeader(http.StatusBadGateway)
	})).ServeHTTP(new(middlewaretest.Writer), middlewaretest.Request(t, "GET /"))
	if got := b.phase.Load().window.networkErrors(b.now()); got != 1 {
		t.Errorf("an answer after an attempt to take over counts as %v", got)
	}
}
