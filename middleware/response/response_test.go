package response

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

// edge sets one response header and removes another.
type edge struct {
	Writer
	// statuses are those that it was shown.
	statuses []int
}

// EditHead notes that it was called.
func (e *edge) EditHead(header http.Header, status int) {
	e.statuses = append(e.statuses, status)
	header["X-Served-By"] = []string{"edge"}
	delete(header, "Server")
}

// edged wraps a handler like a middleware that edits heads, which must be shown one status once.
func edged(t *testing.T, next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e := new(edge)
		e.ResponseWriter, e.Editor = w, e
		next(e, r)
		e.Begin(http.StatusOK)
		if len(e.statuses) != 1 {
			t.Errorf("was shown %d", e.statuses)
		}
	})
}

// exchange serves one request by the wrapped handler over HTTP/1.1 or HTTP/2, and hands the response to check.
func exchange(t *testing.T, h2 bool, handler http.HandlerFunc, trace *httptrace.ClientTrace,
	check func(*http.Response),
) {
	t.Helper()
	server := httptest.NewUnstartedServer(edged(t, handler))
	server.EnableHTTP2 = h2
	server.StartTLS()
	defer server.Close()
	ctx := t.Context()
	if trace != nil {
		ctx = httptrace.WithClientTrace(ctx, trace)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if h2 != (answer.ProtoMajor == 2) {
		t.Fatalf("spoke %s", answer.Proto)
	}
	if answer.Header.Get("X-Served-By") != "edge" || answer.Header["Server"] != nil {
		t.Errorf("headers are %q", answer.Header)
	}
	check(answer)
}

func TestResponsesOfAllShapes(t *testing.T) {
	shapes := map[string]http.HandlerFunc{
		"nothing written": func(http.ResponseWriter, *http.Request) {},
		"status":          func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		"body":            func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("x")) },
		"string":          func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "x") },
		"copy":            func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, strings.NewReader("x")) },
		"flush":           func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush() },
		"controller":      func(w http.ResponseWriter, _ *http.Request) { _ = http.NewResponseController(w).Flush() },
		"error":           func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "x", http.StatusBadGateway) },
	}
	shapes["many"] = func(w http.ResponseWriter, r *http.Request) {
		for _, shape := range []string{"string", "flush", "copy", "controller", "body"} {
			shapes[shape](w, r)
		}
	}
	for name, shape := range shapes {
		for _, h2 := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				exchange(t, h2, func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Server", "secret/1.0")
					w.Header().Set("X-Served-By", "endpoint")
					shape(w, r)
				}, nil, func(*http.Response) {})
			})
		}
	}
}

func TestInformationalResponses(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		var early []string
		trace := &httptrace.ClientTrace{Got1xxResponse: func(status int, header textproto.MIMEHeader) error {
			if status != http.StatusEarlyHints || header.Get("X-Served-By") != "" {
				t.Errorf("got %d with %q", status, header)
			}
			early = append(early, header.Get("Link"))
			return nil
		}}
		exchange(t, h2, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Link", "</a.css>")
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusOK)
		}, trace, func(answer *http.Response) {
			if len(early) != 1 || early[0] != "</a.css>" || answer.StatusCode != http.StatusOK {
				t.Errorf("hints %q, status %d", early, answer.StatusCode)
			}
		})
	}
}

func TestTrailers(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		exchange(t, h2, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "X-Sum")
			_, _ = io.WriteString(w, "x")
			w.Header().Set("X-Sum", "1")
			w.Header().Set(http.TrailerPrefix+"X-Late", "2")
		}, nil, func(answer *http.Response) {
			if _, err := io.ReadAll(answer.Body); err != nil {
				t.Fatal(err)
			}
			if answer.Trailer.Get("X-Sum") != "1" || answer.Trailer.Get("X-Late") != "2" || len(answer.Trailer) != 2 {
				t.Errorf("trailers are %q", answer.Trailer)
			}
		})
	}
}

func TestStreamsWithoutDelay(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		release := make(chan struct{})
		exchange(t, h2, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "first\n")
			w.(http.Flusher).Flush()
			<-release
			_, _ = io.WriteString(w, "second\n")
		}, nil, func(answer *http.Response) {
			body := bufio.NewReader(answer.Body)
			if line, err := body.ReadString('\n'); line != "first\n" {
				t.Errorf("read %q, %v", line, err)
			}
			close(release)
			if line, err := body.ReadString('\n'); line != "second\n" {
				t.Errorf("read %q, %v", line, err)
			}
		})
	}
}

func TestSwitchingProtocols(t *testing.T) {
	exchange(t, false, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "echo")
		w.WriteHeader(http.StatusSwitchingProtocols)
		conn, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.Close() }()
		line, _ := rw.ReadString('\n')
		_, _ = rw.WriteString(line)
		_ = rw.Flush()
	}, nil, func(answer *http.Response) {
		stream, ok := answer.Body.(io.ReadWriter)
		if !ok || answer.StatusCode != http.StatusSwitchingProtocols {
			t.Fatalf("status %d", answer.StatusCode)
		}
		_, _ = io.WriteString(stream, "hello\n")
		if line, err := bufio.NewReader(stream).ReadString('\n'); line != "hello\n" {
			t.Errorf("read %q, %v", line, err)
		}
	})
}

func TestControllerReachesTheServer(t *testing.T) {
	exchange(t, false, func(w http.ResponseWriter, _ *http.Request) {
		controller := http.NewResponseController(w)
		if err := errors.Join(controller.SetWriteDeadline(time.Time{}), controller.SetReadDeadline(time.Time{}),
			controller.EnableFullDuplex()); err != nil {
			t.Error(err)
		}
	}, nil, func(*http.Response) {})
}

func TestHijackWhereItIsNotSupported(t *testing.T) {
	edged(t, func(w http.ResponseWriter, _ *http.Request) {
		if _, _, err := w.(http.Hijacker).Hijack(); !errors.Is(err, http.ErrNotSupported) {
			t.Errorf("error %v", err)
		}
		if err := http.NewResponseController(w).Flush(); !errors.Is(err, http.ErrNotSupported) {
			t.Errorf("error %v", err)
		}
	}).ServeHTTP(new(middlewaretest.Writer), middlewaretest.Request(t, "GET /"))
}

func TestAbortedHandlerChangesNothing(t *testing.T) {
	w := new(middlewaretest.Writer)
	defer func() {
		if recover() == nil || len(w.Header()) != 0 {
			t.Errorf("headers are %q", w.Header())
		}
	}()
	edged(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }).
		ServeHTTP(w, middlewaretest.Request(t, "GET /"))
}

// TestStatusIsShown checks that the editor gets the handler's status, however the response begins.
func TestStatusIsShown(t *testing.T) {
	for name, test := range map[string]struct {
		begin func(http.ResponseWriter)
		want  int
	}{
		"status": {func(w http.ResponseWriter) { w.WriteHeader(http.StatusTeapot) }, http.StatusTeapot},
		"hints": {func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusNotFound)
		}, http.StatusNotFound},
		"switch": {func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusSwitchingProtocols)
		}, http.StatusSwitchingProtocols},
		"twice": {func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusAccepted)
			w.WriteHeader(http.StatusTeapot)
		}, http.StatusAccepted},
		"body":       {func(w http.ResponseWriter) { _, _ = w.Write(nil) }, http.StatusOK},
		"nothing":    {func(http.ResponseWriter) {}, http.StatusOK},
		"connection": {func(w http.ResponseWriter) { _, _, _ = w.(http.Hijacker).Hijack() }, 0},
	} {
		e := new(edge)
		e.ResponseWriter, e.Editor = new(middlewaretest.Writer), e
		test.begin(e)
		e.Begin(http.StatusOK)
		if len(e.statuses) != 1 || e.statuses[0] != test.want {
			t.Errorf("%s: was shown %d, want %d", name, e.statuses, test.want)
		}
	}
}

// splicer is a server's writer that may splice.
type splicer struct {
	middlewaretest.Writer
	splices bool
}

func (s *splicer) Splices() bool { return s.splices }

func TestSplicesLikeTheServer(t *testing.T) {
	for _, splices := range []bool{false, true} {
		if w := (&Writer{ResponseWriter: &splicer{splices: splices}}); w.Splices() != splices {
			t.Errorf("splices: %v", w.Splices())
		}
	}
	if w := (&Writer{ResponseWriter: new(middlewaretest.Writer)}); w.Splices() {
		t.Error("splices where the server does not")
	}
}

func BenchmarkWriter(b *testing.B) {
	inner := new(middlewaretest.Writer)
	b.ReportAllocs()
	for b.Loop() {
		e := new(quiet)
		e.ResponseWriter, e.Editor = inner, e
		e.WriteHeader(http.StatusOK)
	}
}

// quiet edits nothing.
type quiet struct{ Writer }

// EditHead does nothing.
func (*quiet) EditHead(http.Header, int) {}
