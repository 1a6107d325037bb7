package contenttype

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/telemetry"
)

func build(t testing.TB, config dynamic.ContentType) *ContentType {
	t.Helper()
	step, err := New("c@file", config)
	if err != nil {
		t.Fatal(err)
	}
	return step
}

// server is a writer without content detection, controlled by the test.
type server struct {
	header   http.Header
	events   []string
	begun    bool
	types    []string
	splices  bool
	received string
}

// Header returns the header.
func (s *server) Header() http.Header {
	if s.header == nil {
		s.header = http.Header{}
	}
	return s.header
}

// WriteHeader notes the head.
func (s *server) WriteHeader(status int) {
	s.events = append(s.events, http.StatusText(status))
	if status >= 200 || status == http.StatusSwitchingProtocols {
		if !s.begun {
			s.types = s.header["Content-Type"]
		}
		s.begun = true
	}
}

func (s *server) implicit() {
	if !s.begun {
		s.WriteHeader(http.StatusOK)
	}
}

// Write notes the body.
func (s *server) Write(body []byte) (int, error) {
	s.implicit()
	s.events = append(s.events, "write "+string(body))
	s.received += string(body)
	return len(body), nil
}

// FlushError notes the flush.
func (s *server) FlushError() error {
	s.implicit()
	s.events = append(s.events, "flush")
	return nil
}

func (s *server) Splices() bool { return s.splices }

func serve(t testing.TB, r *http.Request, handler http.HandlerFunc) *server {
	t.Helper()
	s := new(server)
	build(t, dynamic.ContentType{}).Wrap(handler).ServeHTTP(s, r)
	s.implicit()
	return s
}

func TestReadme(t *testing.T) {
	step := build(t, *middlewaretest.Examples(t, "README.md")["named"].ContentType)
	for body, want := range map[string]string{
		"<html>x": "text/html; charset=utf-8", `{"a":1}`: "text/plain; charset=utf-8", "\x00\x01": "application/octet-stream",
		"\x89PNG\r\n\x1a\n": "image/png", "%PDF-1.7": "application/pdf",
	} {
		s := new(server)
		step.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })).
			ServeHTTP(s, middlewaretest.Request(t, "GET /"))
		if len(s.types) != 1 || s.types[0] != want || s.received != body {
			t.Errorf("%q: type %q", body, s.types)
		}
	}
}

func TestAutoDetect(t *testing.T) {
	yes, no := true, false
	for _, test := range []struct {
		option *bool
		want   string
		warns  bool
	}{{nil, "text/html; charset=utf-8", false}, {&yes, "text/html; charset=utf-8", true}, {&no, "", true}} {
		step, s := build(t, dynamic.ContentType{AutoDetect: test.option}), new(server)
		step.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") })).
			ServeHTTP(s, middlewaretest.Request(t, "GET /"))
		if got := strings.Join(s.types, ""); got != test.want || (len(step.Warnings()) == 1) != test.warns {
			t.Errorf("%v: type %q, warnings %q", test.option, got, step.Warnings())
		}
	}
}

// TestWhatIsLeftAlone has responses that begin like HTML and are not to be called so.
func TestWhatIsLeftAlone(t *testing.T) {
	for _, test := range []struct {
		name    string
		request []string
		status  int
		header  http.Header
		want    []string
	}{
		{name: "detected", status: 200, want: []string{"text/html; charset=utf-8"}},
		{name: "detected error", status: 404, want: []string{"text/html; charset=utf-8"}},
		{name: "no value", status: 200, header: http.Header{"Content-Type": nil}, want: []string{"text/html; charset=utf-8"}},
		{
			name: "not encoded", status: 200, header: http.Header{"Content-Encoding": {""}},
			want: []string{"text/html; charset=utf-8"},
		},
		{
			name: "with a length", status: 200, header: http.Header{"Content-Length": {"6"}},
			want: []string{"text/html; charset=utf-8"},
		},
		{
			name: "some option", status: 200, header: http.Header{"X-Content-Type-Options": {"sniff"}},
			want: []string{"text/html; charset=utf-8"},
		},
		{
			name: "upgrade refused", request: []string{"GET /", "Connection: Upgrade", "Upgrade: websocket"}, status: 200,
			want: []string{"text/html; charset=utf-8"},
		},
		{
			name: "named", status: 200, header: http.Header{"Content-Type": {"application/json"}},
			want: []string{"application/json"},
		},
		{name: "named empty", status: 200, header: http.Header{"Content-Type": {""}}, want: []string{""}},
		{name: "encoded", status: 200, header: http.Header{"Content-Encoding": {"gzip"}}},
		{name: "encoded by the second line", status: 200, header: http.Header{"Content-Encoding": {"", "gzip"}}},
		{name: "nosniff", status: 200, header: http.Header{"X-Content-Type-Options": {" NoSniff"}}},
		{name: "part", status: 206},
		{name: "range", status: 200, header: http.Header{"Content-Range": {"bytes 5-9/10"}}},
		{name: "no content", status: 204},
		{name: "reset", status: 205},
		{name: "not modified", status: 304},
		{name: "empty", status: 200, header: http.Header{"Content-Length": {"0"}}},
		{name: "switch", status: 101},
		{name: "HEAD", request: []string{"HEAD /"}, status: 200},
		{name: "gRPC", request: []string{"POST /", "Content-Type: application/grpc+proto"}, status: 200},
	} {
		lines := test.request
		if lines == nil {
			lines = []string{"GET /"}
		}
		s := serve(t, middlewaretest.Request(t, lines[0], lines[1:]...), func(w http.ResponseWriter, _ *http.Request) {
			for name, values := range test.header {
				w.Header()[name] = values
			}
			w.WriteHeader(test.status)
			_, _ = io.WriteString(w, "<html>")
		})
		if diff := cmp.Diff(test.want, s.types); diff != "" || s.events[0] != http.StatusText(test.status) ||
			len(s.events) != 2 {
			t.Errorf("%s: %s %q", test.name, diff, s.events)
		}
	}
}

// TestOrder has the head wait for the first byte, and for nothing else.
func TestOrder(t *testing.T) {
	const ok = "OK"
	for _, test := range []struct {
		name    string
		handler http.HandlerFunc
		events  []string
		kind    string
	}{
		{"nothing", func(http.ResponseWriter, *http.Request) {}, []string{ok}, ""},
		{"status alone", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(201) }, []string{"Created"}, ""},
		{"two statuses", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(201)
			w.WriteHeader(500)
		}, []string{"Created"}, ""},
		{"hints", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(103)
			w.WriteHeader(404)
			_, _ = w.Write([]byte("<html>"))
		}, []string{"Early Hints", "Not Found", "write <html>"}, "text/html; charset=utf-8"},
		{"flush before the body", func(w http.ResponseWriter, _ *http.Request) {
			w.(http.Flusher).Flush()
			_, _ = w.Write([]byte("<html>"))
		}, []string{ok, "flush", "write <html>"}, ""},
		{"status, flush", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(201)
			_ = http.NewResponseController(w).Flush()
			_, _ = w.Write([]byte("<html>"))
		}, []string{"Created", "flush", "write <html>"}, ""},
		{"flush behind the first bytes", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("<html>"))
			w.(http.Flusher).Flush()
			_, _ = w.Write([]byte("x"))
		}, []string{ok, "write <html>", "flush", "write x"}, "text/html; charset=utf-8"},
		{"no bytes", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(nil)
			_, _ = w.Write([]byte("<html>"))
		}, []string{ok, "write <html>"}, "text/html; charset=utf-8"},
		{"few bytes", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("<h"))
			_, _ = w.Write([]byte("tml>"))
		}, []string{ok, "write <h", "write tml>"}, "text/plain; charset=utf-8"},
		{"copy", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(201)
			_, _ = w.(io.ReaderFrom).ReadFrom(source("", "<html>", "x"))
		}, []string{"Created", "write <html>", "write x"}, "text/html; charset=utf-8"},
		{"copy nothing", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(201)
			_, _ = w.(io.ReaderFrom).ReadFrom(source())
		}, []string{"Created"}, ""},
		{"copy later", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "<html>")
			_, _ = w.(io.ReaderFrom).ReadFrom(source("x"))
		}, []string{ok, "write <html>", "write x"}, "text/html; charset=utf-8"},
	} {
		s := serve(t, middlewaretest.Request(t, "GET /"), test.handler)
		if diff := cmp.Diff(test.events, s.events); diff != "" || strings.Join(s.types, "|") != test.kind {
			t.Errorf("%s: %s type %q", test.name, diff, s.types)
		}
	}
}

// source gives one piece at a time.
func source(pieces ...string) io.Reader {
	readers := make([]io.Reader, 0, len(pieces))
	for _, piece := range pieces {
		readers = append(readers, strings.NewReader(piece))
	}
	return struct{ io.Reader }{io.MultiReader(readers...)}
}

func TestSplicesOnceTheHeadIsSent(t *testing.T) {
	for kind, want := range map[string]bool{"": false, "text/plain": true} {
		s := &server{splices: true}
		build(t, dynamic.ContentType{}).Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if kind != "" {
				w.Header().Set("Content-Type", kind)
			}
			w.WriteHeader(http.StatusOK)
			if got := httpio.Splices(w); got != want {
				t.Errorf("%q: splices %v", kind, got)
			}
			_, _ = w.Write([]byte("x"))
			if !httpio.Splices(w) {
				t.Errorf("%q: does not splice the rest", kind)
			}
		})).ServeHTTP(s, middlewaretest.Request(t, "GET /"))
	}
}

func TestAbortedHandlerSendsNothing(t *testing.T) {
	s := new(server)
	defer func() {
		if recover() == nil || len(s.events) != 0 {
			t.Errorf("sent %q", s.events)
		}
	}()
	build(t, dynamic.ContentType{}).Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusOK)
		panic(http.ErrAbortHandler)
	})).ServeHTTP(s, middlewaretest.Request(t, "GET /"))
}

// recyclable is a handler that keeps nothing.
type recyclable struct{ http.Handler }

func (recyclable) NoRetain() {}

// TestWritersServeAgain checks that only writers that are not retained are recycled, without state of the last
// response.
func TestWritersServeAgain(t *testing.T) {
	for _, test := range []struct{ recyclable, released, again bool }{
		{true, true, true},
		{true, false, false},
		{false, true, false},
	} {
		writers := make(map[http.ResponseWriter]bool)
		var next http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			writers[w] = true
			telemetry.RecordFrom(r.Context()).Released = test.released
			if r.URL.Path == "/named" {
				w.Header().Set("Content-Type", "text/x-named")
			}
			w.Header().Set("X-Path", r.URL.Path)
			w.WriteHeader(http.StatusAccepted)
			if r.URL.Path != "/empty" {
				_, _ = io.WriteString(w, "<html>")
			}
		})
		if test.recyclable {
			next = recyclable{next}
		}
		handler := build(t, dynamic.ContentType{}).Wrap(next)
		const rounds = 20
		for range rounds {
			for path, want := range map[string]string{
				"/named": "text/x-named", "/detected": "text/html; charset=utf-8",
				"/empty": "",
			} {
				s, r := new(server), middlewaretest.Request(t, "GET "+path)
				handler.ServeHTTP(s, r.WithContext(telemetry.WithRecord(r.Context(), new(telemetry.Record))))
				if strings.Join(s.types, "|") != want || s.events[0] != "Accepted" || s.header.Get("X-Path") != path ||
					(s.received == "") != (path == "/empty") {
					t.Errorf("%+v %s: %q, type %q", test, path, s.events, s.types)
				}
			}
		}
		if again := len(writers) < 3*rounds*3/4; again != test.again || !again && len(writers) != 3*rounds {
			t.Errorf("%+v: %d writers for %d responses", test, len(writers), 3*rounds)
		}
	}
}

// FuzzBody cuts a body in two: the type is that of the first piece, and no byte is lost.
func FuzzBody(f *testing.F) {
	f.Add("<html>", 2, true, 200)
	f.Add("", 0, false, 204)
	f.Add(strings.Repeat("x", 2000), 600, true, 404)
	f.Fuzz(func(t *testing.T, body string, at int, flush bool, status int) {
		if status < 200 || status > 999 || at < 0 || at > len(body) {
			return
		}
		recorder := httptest.NewRecorder()
		build(t, dynamic.ContentType{}).Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body[:at])
			if flush {
				w.(http.Flusher).Flush()
			}
			_, _ = io.Copy(w, source(body[at:]))
		})).ServeHTTP(recorder, middlewaretest.Request(t, "GET /"))
		if recorder.Code != status || recorder.Body.String() != body {
			t.Fatalf("status %d, body %q", recorder.Code, recorder.Body)
		}
	})
}

func BenchmarkContentType(b *testing.B) {
	no := false
	for _, test := range []struct {
		name   string
		config dynamic.ContentType
		lines  []string
		kind   []string
	}{
		{"idle/off", dynamic.ContentType{AutoDetect: &no}, []string{"GET /"}, nil},
		{"idle/head", dynamic.ContentType{}, []string{"HEAD /"}, nil},
		{"idle/grpc", dynamic.ContentType{}, []string{"POST /", "Content-Type: application/grpc"}, nil},
		{"named", dynamic.ContentType{}, []string{"GET /"}, []string{"text/html"}},
		{"detected", dynamic.ContentType{}, []string{"GET /"}, nil},
	} {
		body, record := []byte("<html>"), new(telemetry.Record)
		handler := build(b, test.config).Wrap(recyclable{http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			record.Released = true
			w.Header()["Content-Type"] = test.kind
			w.WriteHeader(http.StatusOK)
			_, _ = w.Write(body)
		})})
		r, w := middlewaretest.Request(b, test.lines[0], test.lines[1:]...), new(middlewaretest.Writer)
		r = r.WithContext(telemetry.WithRecord(r.Context(), record))
		b.Run(test.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				handler.ServeHTTP(w, r)
			}
		})
	}
}
