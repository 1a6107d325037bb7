package compress

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

// everywhere runs a test on all servers and in all encodings.
func everywhere(t *testing.T, handler http.Handler, test func(t *testing.T, at server, encoding string)) {
	t.Helper()
	for name, serve := range servers() {
		for _, encoding := range []string{"gzip", "br", "zstd"} {
			t.Run(name+" "+encoding, func(t *testing.T) {
				test(t, serve(t, made(t, nil).Wrap(handler)), encoding)
			})
		}
	}
}

func TestEventsArriveAtOnce(t *testing.T) {
	streams := make(chan chan string, 1)
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		next := <-streams
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		for event := range next {
			_, _ = io.WriteString(w, event)
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
			w.(http.Flusher).Flush()
		}
	})
	everywhere(t, handler, func(t *testing.T, at server, encoding string) {
		next := make(chan string)
		streams <- next
		response := at.get(t, encoding) // The head is there before the first event.
		if response.Header.Get("Content-Encoding") != encoding {
			t.Fatalf("head: %v", response.Header)
		}
		var lines *bufio.Reader
		for i := range 50 {
			event := strings.Repeat("e", i) + "\n"
			next <- event
			if lines == nil {
				lines = bufio.NewReader(decoder(t, encoding, response.Body))
			}
			// The next one is not sent before this one has come.
			if line, err := lines.ReadString('\n'); line != event || err != nil {
				t.Fatalf("event %d: %q, %v", i, line, err)
			}
		}
		close(next)
		if rest, err := io.ReadAll(lines); len(rest) > 0 || err != nil {
			t.Errorf("at the end: %q, %v", rest, err)
		}
	})
}

func TestTrailersPass(t *testing.T) {
	for _, size := range []int{10, 5000} {
		handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Set("Trailer", "X-Announced")
			w.WriteHeader(http.StatusAccepted)
			_, _ = w.Write(text(size))
			w.Header().Set("X-Announced", "yes")
			w.Header().Set(http.TrailerPrefix+"X-Late", "too")
			w.Header().Set(http.TrailerPrefix+"Content-Digest", "sha-256=:of what was:")
			w.Header().Set("X-Too-Late", "no header any more")
		})
		everywhere(t, handler, func(t *testing.T, at server, encoding string) {
			response := at.get(t, encoding)
			if got := decoded(t, response); !bytes.Equal(got, text(size)) {
				t.Errorf("%d bytes", len(got))
			}
			for _, name := range []string{"X-Announced", "X-Late", "X-Too-Late"} {
				if value := response.Header.Get(name); value != "" {
					t.Errorf("%s: %s is in the head", name, value)
				}
			}
			if response.Trailer.Get("X-Announced") != "yes" || response.Trailer.Get("X-Late") != "too" ||
				response.StatusCode != http.StatusAccepted {
				t.Errorf("%d, %v", response.StatusCode, response.Trailer)
			}
			compressed := response.Header.Get("Content-Encoding") != ""
			if compressed != (size == 5000) || compressed == (response.Trailer.Get("Content-Digest") != "") {
				t.Errorf("compressed: %v, trailers: %v", compressed, response.Trailer)
			}
		})
	}
}

func TestInformationalResponsesPass(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Set("Content-Type", "text/css")
		_, _ = w.Write(text(2000))
	})
	everywhere(t, handler, func(t *testing.T, at server, encoding string) {
		hints := 0
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(code int,
			header textproto.MIMEHeader,
		) error {
			if code == http.StatusEarlyHints && header.Get("Link") != "" && header.Get("Content-Encoding") == "" &&
				header.Get("Vary") == "" {
				hints++
			}
			return nil
		}})
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept-Encoding", encoding)
		response, err := at.client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		if got := decoded(t, response); !bytes.Equal(got, text(2000)) || hints != 1 ||
			response.Header.Get("Content-Encoding") != encoding {
			t.Errorf("%d bytes, %d hints, %v", len(got), hints, response.Header)
		}
	})
}

func TestHandlersThatPanicAreCutOff(t *testing.T) {
	for _, held := range []bool{true, false} {
		handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = w.Write(text(100))
			if !held {
				_, _ = w.Write(text(100_000))
				w.(http.Flusher).Flush()
			}
			panic(http.ErrAbortHandler)
		})
		everywhere(t, handler, func(t *testing.T, at server, encoding string) {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at.url, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Accept-Encoding", encoding)
			response, err := at.client.Do(request)
			if err != nil {
				return // Nothing was sent.
			}
			defer func() { _ = response.Body.Close() }()
			if held {
				t.Errorf("a response that was kept back has been sent: %v", response.Header)
			}
			if _, err := io.ReadAll(response.Body); err == nil {
				t.Error("a part passes for the whole")
			}
		})
	}
}

func TestTooShortBodiesAreCutOff(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Length", "5000")
		_, _ = w.Write(text(4999))
	})
	everywhere(t, handler, func(t *testing.T, at server, encoding string) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at.url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept-Encoding", encoding)
		response, err := at.client.Do(request)
		if err != nil {
			return
		}
		defer func() { _ = response.Body.Close() }()
		if _, err := io.ReadAll(response.Body); err == nil {
			t.Error("a part passes for the whole")
		}
	})
}

func TestTooLongBodiesAreRefused(t *testing.T) {
	c := made(t, nil)
	var n int
	var err error
	w := &recorded{}
	c.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Length", "5000")
		_, _ = w.Write(text(5000))
		n, err = w.Write([]byte("!"))
	})).ServeHTTP(w, middlewaretest.Request(t, "GET /", "Accept-Encoding: gzip"))
	if n != 0 || !errors.Is(err, http.ErrContentLength) {
		t.Errorf("%d, %v", n, err)
	}
}

// recorded is a writer that keeps the body, and can do what the server's writers can.
type recorded struct {
	middlewaretest.Writer
	body    bytes.Buffer
	flushes int
	sources []io.Reader
	broken  error
}

func (r *recorded) Write(p []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	if r.broken != nil {
		return 0, r.broken
	}
	return r.body.Write(p)
}

func (r *recorded) FlushError() error { r.flushes++; return nil }

func (r *recorded) Splices() bool { return true }

func (r *recorded) ReadFrom(source io.Reader) (int64, error) {
	r.sources = append(r.sources, source)
	return r.body.ReadFrom(source)
}

// splices is the interface that forward uses.
type splices interface {
	io.ReaderFrom
	Splices() bool
}

func TestWhatIsNotCompressedIsSpliced(t *testing.T) {
	source := struct{ io.Reader }{strings.NewReader(strings.Repeat("x", 5000))}
	w := new(recorded)
	c := made(t, nil)
	c.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if w.(splices).Splices() {
			t.Error("splices before the decision")
		}
		w.Header().Set("Content-Type", "image/png")
		w.WriteHeader(http.StatusOK)
		if !w.(splices).Splices() {
			t.Error("does not splice")
		}
		if n, err := w.(splices).ReadFrom(source); n != 5000 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	})).ServeHTTP(w, middlewaretest.Request(t, "GET /", "Accept-Encoding: gzip"))
	if len(w.sources) != 1 || w.sources[0] != io.Reader(source) || w.body.Len() != 5000 {
		t.Errorf("the server's writer got %v", w.sources)
	}
	w = new(recorded)
	c.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		if n, err := w.(splices).ReadFrom(struct{ io.Reader }{bytes.NewReader(text(5000))}); n != 5000 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		if w.(splices).Splices() {
			t.Error("what is compressed is spliced")
		}
	})).ServeHTTP(w, middlewaretest.Request(t, "GET /", "Accept-Encoding: gzip"))
	if body, err := io.ReadAll(decoder(t, "gzip", &w.body)); !bytes.Equal(body, text(5000)) || err != nil {
		t.Errorf("%d bytes, %v", len(body), err)
	}
	want := map[string]uint64{
		"compressed": 1, "skipped": 1, "crowded": 0, "bytes_in": 5000,
		"bytes_out": c.Counts()["bytes_out"],
	}
	if !cmp.Equal(c.Counts(), want) || want["bytes_out"] == 0 || want["bytes_out"] > 500 {
		t.Errorf("counts: %v", c.Counts())
	}
}

func TestHijack(t *testing.T) {
	for name, serve := range servers() {
		if strings.HasSuffix(name, "h2") {
			continue // HTTP/2 connections cannot be hijacked.
		}
		for _, switches := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				at := serve(t, made(t, nil).Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					if switches {
						w.Header().Set("Upgrade", "echo")
						w.Header().Set("Connection", "Upgrade")
						w.WriteHeader(http.StatusSwitchingProtocols)
					}
					conn, buffers, err := http.NewResponseController(w).Hijack()
					if err != nil {
						t.Error(err)
						return
					}
					defer func() { _ = conn.Close() }()
					if !switches {
						_, _ = buffers.WriteString("HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n")
						_ = buffers.Flush()
					}
					line, _ := buffers.ReadString('\n')
					_, _ = buffers.WriteString(strings.Repeat(line, 1000))
					_ = buffers.Flush()
				})))
				response := at.get(t, "gzip", "Upgrade", "echo", "Connection", "Upgrade")
				if response.StatusCode != http.StatusSwitchingProtocols || response.Header.Get("Content-Encoding") != "" {
					t.Fatalf("%d %v", response.StatusCode, response.Header)
				}
				body := response.Body.(io.ReadWriter)
				_, _ = io.WriteString(body, "hello\n")
				if got, _ := io.ReadAll(body); string(got) != strings.Repeat("hello\n", 1000) {
					t.Errorf("%d bytes", len(got))
				}
			})
		}
	}
}

func TestLateCallsAreIgnored(t *testing.T) {
	for _, size := range []int{10, 5000} {
		c := made(t, nil)
		w := new(recorded)
		var late http.ResponseWriter
		handler := c.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			late = w
			w.Header().Set("Content-Type", "text/plain")
			_, _ = w.Write(text(size))
			if size == 10 {
				panic(http.ErrAbortHandler)
			}
		}))
		func() {
			defer func() {
				if cause := recover(); (cause != nil) != (size == 10) {
					t.Errorf("panic: %v", cause)
				}
			}()
			handler.ServeHTTP(w, middlewaretest.Request(t, "GET /", "Accept-Encoding: br"))
		}()
		want := w.body.Len()
		if _, err := late.Write([]byte("late")); !errors.Is(err, errEnded) {
			t.Errorf("Write: %v", err)
		}
		if err := http.NewResponseController(late).Flush(); !errors.Is(err, errEnded) {
			t.Errorf("Flush: %v", err)
		}
		if _, _, err := http.NewResponseController(late).Hijack(); !errors.Is(err, errEnded) {
			t.Errorf("Hijack: %v", err)
		}
		if w.body.Len() != want {
			t.Error("it was sent")
		}
	}
}

func TestClientsLeave(t *testing.T) {
	c := made(t, nil)
	w := &recorded{broken: os.ErrDeadlineExceeded}
	var failed error
	c.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		for range 10_000 {
			if _, failed = w.Write([]byte(strings.Repeat("0123456789abcdef", 64))); failed != nil {
				break
			}
			if failed = http.NewResponseController(w).Flush(); failed != nil {
				break
			}
		}
		_, err := w.Write([]byte("more"))
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("after that: %v", err)
		}
	})).ServeHTTP(w, middlewaretest.Request(t, "GET /", "Accept-Encoding: zstd"))
	if !errors.Is(failed, os.ErrDeadlineExceeded) {
		t.Errorf("%v", failed)
	}
	// The encoder of that response serves the next one.
	w = new(recorded)
	c.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = w.Write(text(5000))
	})).ServeHTTP(w, middlewaretest.Request(t, "GET /", "Accept-Encoding: zstd"))
	if body, err := io.ReadAll(decoder(t, "zstd", &w.body)); !bytes.Equal(body, text(5000)) || err != nil {
		t.Errorf("%d bytes, %v", len(body), err)
	}
}

// TestNothingIsKeptBack checks how much of a body of unknown length is held, and until when.
func TestNothingIsKeptBack(t *testing.T) {
	c := made(t, func(config *dynamic.Compress) { config.MinResponseBodyBytes = 100 << 20 })
	w := new(recorded)
	c.Wrap(http.HandlerFunc(func(own http.ResponseWriter, _ *http.Request) {
		own.Header().Set("Content-Type", "text/plain")
		for range holdBytes/1024 - 1 {
			_, _ = own.Write(text(1024))
		}
		if w.Status != 0 || w.body.Len() != 0 {
			t.Error("sent before the minimum")
		}
		_, _ = own.Write(text(1024))
		if w.Status != http.StatusOK || w.Header().Get("Content-Encoding") != "gzip" {
			t.Errorf("after %d bytes: %d %v", holdBytes, w.Status, w.Header())
		}
	})).ServeHTTP(w, middlewaretest.Request(t, "GET /", "Accept-Encoding: gzip"))

	w = new(recorded)
	c.Wrap(http.HandlerFunc(func(own http.ResponseWriter, _ *http.Request) {
		own.Header().Set("Content-Type", "text/plain")
		_, _ = own.Write([]byte("a"))
		own.(http.Flusher).Flush()
		if reader := decoder(t, "gzip", bytes.NewReader(w.body.Bytes())); w.flushes != 1 {
			t.Errorf("%d flushes", w.flushes)
		} else if got, err := io.ReadAll(reader); string(got) != "a" || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("what was flushed: %q, %v", got, err)
		}
		size := w.body.Len()
		own.(http.Flusher).Flush()
		if w.body.Len() != size || w.flushes != 2 {
			t.Error("a flush of nothing sends something")
		}
	})).ServeHTTP(w, middlewaretest.Request(t, "GET /", "Accept-Encoding: gzip"))
}

func TestUnwrap(t *testing.T) {
	w := new(recorded)
	made(t, nil).Wrap(http.HandlerFunc(func(own http.ResponseWriter, _ *http.Request) {
		if own.(interface{ Unwrap() http.ResponseWriter }).Unwrap() != http.ResponseWriter(w) {
			t.Error("another writer")
		}
	})).ServeHTTP(w, middlewaretest.Request(t, "GET /", "Accept-Encoding: gzip"))
	if w.Status != 0 || len(w.Header()) != 0 {
		t.Errorf("a handler that does nothing: %d %v", w.Status, w.Header())
	}
}

// TestEncodedBySecondLine demands that a response is not encoded twice whose service names its encoding on a line after
// an empty one.
func TestEncodedBySecondLine(t *testing.T) {
	w := new(recorded)
	made(t, nil).Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header()["Content-Encoding"] = []string{"", "br"}
		_, _ = w.Write(text(5000))
	})).ServeHTTP(w, middlewaretest.Request(t, "GET /", "Accept-Encoding: gzip"))
	if got := w.Header()["Content-Encoding"]; !slices.Equal(got, []string{"", "br"}) || !bytes.Equal(w.body.Bytes(),
		text(5000)) {
		t.Errorf("%q, %d bytes", got, w.body.Len())
	}
}
