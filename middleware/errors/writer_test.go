package errors_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/httpio"
	errorpages "github.com/sluiceproxy/sluice/middleware/errors"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/telemetry"
)

// direct is a writer that takes a body in one go.
type direct struct {
	middlewaretest.Writer
	from     io.Reader
	deadline time.Time
}

// ReadFrom notes where the body comes from.
func (d *direct) ReadFrom(source io.Reader) (int64, error) {
	d.from = source
	return io.Copy(io.Discard, source)
}

// Splices says yes.
func (*direct) Splices() bool { return true }

// SetReadDeadline notes the deadline.
func (d *direct) SetReadDeadline(deadline time.Time) error {
	d.deadline = deadline
	return nil
}

// TestWriterKeepsItsAbilities demands that what the server's writer can do, the one that handlers get can do too.
func TestWriterKeepsItsAbilities(t *testing.T) {
	pages := build(t, dynamic.ErrorPage{Status: []string{"5xx"}}, answers(200, "page"))
	for name, status := range map[string]int{"passes": 200, "discarded": 500} {
		t.Run(name, func(t *testing.T) {
			writer, passes := &direct{}, status == 200
			next := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				equal(t, "splices before the head", httpio.Splices(w), false)
				equal(t, "discards before the head", httpio.Discards(w), false)
				w.WriteHeader(status)
				equal(t, "splices", httpio.Splices(w), passes)
				equal(t, "discards", httpio.Discards(w), !passes)
				body := strings.NewReader("body")
				n, err := w.(io.ReaderFrom).ReadFrom(body)
				equal(t, "read", []any{n, err, writer.from == body}, []any{int64(4), nil, passes})
				n2, err := io.WriteString(w, "text")
				equal(t, "written", []any{n2, err}, []any{4, nil})
				deadline := time.Unix(100, 0)
				equal(t, "deadline", []any{http.NewResponseController(w).SetReadDeadline(deadline), writer.deadline},
					[]any{nil, deadline})
				equal(t, "flush", errors.Is(http.NewResponseController(w).Flush(), http.ErrNotSupported), passes)
			})
			pages.Wrap(next).ServeHTTP(writer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
			equal(t, "status", writer.Status, status)
		})
	}
}

// TestRecycledWriterIsClean demands that a recycled writer has nothing of the last response.
func TestRecycledWriterIsClean(t *testing.T) {
	pages := build(t, dynamic.ErrorPage{Status: []string{"5xx"}, Query: "/?{url}"}, echoPage())
	released := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		telemetry.RecordFrom(r.Context()).Released = true
		if r.URL.Path == "/bad" {
			w.WriteHeader(500)
			return
		}
		w.Header().Set("X-Own", "yes")
	})
	handler := pages.Wrap(recyclable{released})
	for range 10 {
		for _, path := range []string{"/good", "/bad"} {
			recorder := httptest.NewRecorder()
			recorder.Header().Set("X-Outer", "yes")
			r := middlewaretest.Request(t, "GET "+path)
			handler.ServeHTTP(recorder, r.WithContext(telemetry.WithRecord(r.Context(), &telemetry.Record{})))
			equal(t, "outer", recorder.Header().Get("X-Outer"), "yes")
			if path == "/good" {
				equal(t, "good", []any{recorder.Code, recorder.Header().Get("X-Own")}, []any{200, "yes"})
				continue
			}
			equal(t, "bad", []any{recorder.Code, recorder.Header().Get("X-Own")}, []any{500, ""})
			if body := recorder.Body.String(); !strings.Contains(body, "GET /?http%3A%2F%2Fexample.com%2Fbad\n") {
				t.Errorf("the page is %q", body)
			}
		}
	}
}

// FuzzQuery asserts that a query which is accepted leads to a valid target whatever the request is, and that the error
// of another one says what it is about.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{
		"", "/{status}.html", "{url}", "/?a={url}&b={status}#x", "/a//b", "/%zz", "/{no}", "?",
		"/..", "/{status}/../x", "{", "//", "/;{originalStatus}", "/%2e%2e/{url}", "?\x00", "/a b", "/%",
	} {
		f.Add(seed, "/a?b=c")
		f.Add(seed, "/%2e%2f{status}?%zz;{url}")
	}
	f.Fuzz(func(t *testing.T, query, uri string) {
		var asked *http.Request
		page := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked = r })
		page404 := dynamic.ErrorPage{Service: "s", Status: []string{"404"}, Query: query}
		pages, err := errorpages.New("p@file", page404, page, nil)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "errors.query: ") {
				t.Fatal(err)
			}
			return
		}
		record := new(telemetry.Record)
		r := httptest.NewRequestWithContext(telemetry.WithRecord(t.Context(), record), http.MethodGet, "/", nil)
		r.URL.Path, r.URL.RawQuery, _ = strings.Cut(uri, "?")
		pages.Wrap(answers(404, "")).ServeHTTP(httptest.NewRecorder(), r)
		if asked == nil {
			t.Fatalf("%q: %s", query, record.Reason)
		}
		if _, err := (canonical.Policy{}).Query(asked.URL.RawQuery); err != nil {
			t.Errorf("%q: %v", asked.URL.RawQuery, err)
		}
		before := asked.RequestURI
		if _, err := canonical.DefaultPolicy().Normalize(asked); err != nil || asked.RequestURI != before ||
			!strings.HasPrefix(before, "/") {
			t.Errorf("%q: %q becomes %q, %v", query, before, asked.RequestURI, err)
		}
	})
}

// BenchmarkGoodAnswer is what a request costs whose answer passes, where no part of it is retained.
func BenchmarkGoodAnswer(b *testing.B) {
	bench(b, func(next http.Handler) http.Handler { return recyclable{next} })
}

// BenchmarkGoodAnswerKept is what it costs where the writer may be retained.
func BenchmarkGoodAnswerKept(b *testing.B) {
	bench(b, func(next http.Handler) http.Handler { return next })
}

func bench(b *testing.B, around func(http.Handler) http.Handler) {
	record := &telemetry.Record{}
	next := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		record.Released = true
		w.WriteHeader(http.StatusOK)
	})
	handler := build(b, dynamic.ErrorPage{Status: []string{"404", "500-599"}}, answers(200, "page")).Wrap(around(next))
	r := middlewaretest.Request(b, "GET /a?b=c")
	r = r.WithContext(telemetry.WithRecord(r.Context(), record))
	writer := new(middlewaretest.Writer)
	b.ReportAllocs()
	for b.Loop() {
		writer.Status = 0
		handler.ServeHTTP(writer, r)
	}
}

// BenchmarkNothingListed is what a request costs where no status is listed.
func BenchmarkNothingListed(b *testing.B) {
	next := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	handler := build(b, dynamic.ErrorPage{}, answers(200, "page")).Wrap(next)
	r, writer := middlewaretest.Request(b, "GET /a?b=c"), new(middlewaretest.Writer)
	b.ReportAllocs()
	for b.Loop() {
		handler.ServeHTTP(writer, r)
	}
}
