package bodylimit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest/rig"
	"github.com/sluiceproxy/sluice/telemetry"
)

func newLimit(t testing.TB, limit int64) *BodyLimit {
	t.Helper()
	step, err := New("limit@file", dynamic.BodyLimit{MaxRequestBodyBytes: limit})
	if err != nil {
		t.Fatal(err)
	}
	return step
}

func TestNew(t *testing.T) {
	for limit, want := range map[int64]string{
		0:             "bodyLimit.maxRequestBodyBytes 0 is less than 1",
		-1:            "bodyLimit.maxRequestBodyBytes -1 is less than 1",
		math.MinInt64: "bodyLimit.maxRequestBodyBytes -9223372036854775808 is less than 1",
	} {
		if step, err := New("limit@file", dynamic.BodyLimit{MaxRequestBodyBytes: limit}); step != nil || err == nil ||
			err.Error() != want {
			t.Errorf("%d: %v, %v", limit, step, err)
		}
	}
	newLimit(t, 1)
	newLimit(t, math.MaxInt64)
}

func TestReadme(t *testing.T) {
	config := middlewaretest.Examples(t, "README.md")["at-most-8-mib"].BodyLimit
	if diff := cmp.Diff(&dynamic.BodyLimit{MaxRequestBodyBytes: 8 << 20}, config); diff != "" {
		t.Error(diff)
	}
}

// TestSizes has bodies of all sizes around the limit, with and without a length, read in all ways.
func TestSizes(t *testing.T) {
	const limit = 10
	ways := map[string]func(io.Reader) io.Reader{
		"whole": func(r io.Reader) io.Reader { return r }, "bytes": iotest.OneByteReader,
		"halves": iotest.HalfReader, "end with data": iotest.DataErrReader,
	}
	for size := range 14 {
		for name, way := range ways {
			for _, known := range []bool{true, false} {
				step := newLimit(t, limit)
				text := strings.Repeat("x", size)
				r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", io.NopCloser(way(strings.NewReader(text))))
				r.ContentLength = -1
				if known {
					r.ContentLength = int64(size)
				}
				got := serve(step, r)
				want := "200 " + text
				switch {
				case size > limit && known:
					want = "413 Request Entity Too Large\n"
				case size > limit:
					want = "413 " + text[:limit]
				}
				if got != want {
					t.Errorf("%d bytes, %s, length known %v: %q", size, name, known, got)
				}
				if counts, want := step.Counts()["too_large"], uint64(0); size > limit && counts != 1 || size <= limit &&
					counts != want {
					t.Errorf("%d bytes: counted %d", size, counts)
				}
			}
		}
	}
}

// serve answers with the body it reads, and with 413 after the error, twice.
func serve(step *BodyLimit, r *http.Request) string {
	w := httptest.NewRecorder()
	step.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok && tooLarge.Limit == 10 {
			if _, again := r.Body.Read(make([]byte, 1)); again == err { //nolint:errorlint // the very same
				w.WriteHeader(http.StatusRequestEntityTooLarge)
			}
		}
		_, _ = w.Write(body)
	})).ServeHTTP(w, r)
	return fmt.Sprintf("%d %s", w.Code, w.Body)
}

func TestLargestLimit(t *testing.T) {
	step := newLimit(t, math.MaxInt64)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", onlyReader{strings.NewReader("body")})
	if got := serve(step, r); got != "200 body" {
		t.Errorf("got %q", got)
	}
}

func TestErrorsOfTheClientPass(t *testing.T) {
	broken := errors.New("broken")
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/",
		onlyReader{io.MultiReader(strings.NewReader("body"), iotest.ErrReader(broken))})
	step := newLimit(t, 10)
	step.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); string(body) != "body" || !errors.Is(err, broken) {
			t.Errorf("read %q, %v", body, err)
		}
	})).ServeHTTP(httptest.NewRecorder(), r)
}

func TestReason(t *testing.T) {
	for _, length := range []int64{100, -1} {
		record := new(telemetry.Record)
		r := httptest.NewRequestWithContext(telemetry.WithRecord(t.Context(), record), http.MethodPost, "/",
			strings.NewReader(strings.Repeat("x", 100)))
		r.ContentLength = length
		serve(newLimit(t, 10), r)
		if want := "middleware limit@file: the request's body is larger than maxRequestBodyBytes, 10"; record.Reason != want {
			t.Errorf("length %d: reason %q", length, record.Reason)
		}
	}
}

// echo reads the whole request and answers its length.
func echo(w http.ResponseWriter, r *http.Request) {
	n, _ := io.Copy(io.Discard, r.Body)
	_, _ = fmt.Fprint(w, n)
}

// TestOnTheWire sends bodies through an entrypoint to a service.
func TestOnTheWire(t *testing.T) {
	rig.Matrix(t, func(t *testing.T, client, upstream string) {
		step := newLimit(t, 1000)
		asked := make(chan error, 10)
		g := rig.New(t, rig.Setup{Wrap: step.Wrap, Upstream: upstream, Endpoint: func(w http.ResponseWriter,
			r *http.Request,
		) {
			n, err := io.Copy(io.Discard, r.Body)
			if r.Header.Get("X-Never") == "true" {
				t.Error("the service got the request")
			}
			asked <- err
			_, _ = fmt.Fprint(w, n)
		}})
		for _, test := range []struct {
			size   int
			known  bool
			status int
			body   string
			asked  bool
		}{
			{0, true, 200, "0", true},
			{1000, true, 200, "1000", true},
			{1001, true, 413, "Request Entity Too Large\n", false},
			{1000, false, 200, "1000", true},
			{1001, false, 413, "Request Entity Too Large", true},
			{1 << 20, false, 413, "Request Entity Too Large", true},
			{1 << 20, true, 413, "Request Entity Too Large\n", false},
		} {
			name := fmt.Sprintf("%d bytes, known %v", test.size, test.known)
			var body io.Reader = bytes.NewReader(make([]byte, test.size))
			if !test.known {
				body = onlyReader{body}
			}
			response, text, err := g.Do(client, g.Request(http.MethodPost, "/", body, "X-Never", fmt.Sprint(!test.asked)))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if response.StatusCode != test.status || text != test.body {
				t.Errorf("%s: got %d %q", name, response.StatusCode, text)
			}
			record := g.Record()
			if record.Status != test.status || (test.status == 413) != strings.HasPrefix(record.Reason,
				"middleware limit@file: ") {
				t.Errorf("%s: recorded %d, %q", name, record.Status, record.Reason)
			}
			// An endpoint whose request is aborted may not be called.
			if test.asked && test.status == 200 {
				if err := http1test.Receive(t, asked, "the service"); err != nil {
					t.Errorf("%s: the service read %v", name, err)
				}
			}
			for len(asked) > 0 {
				if err := <-asked; test.status == 413 && err == nil {
					t.Errorf("%s: the service takes a part for the whole", name)
				}
			}
		}
	})
}

// TestAfterTheResponseHasBegun has an endpoint that answers while the body comes.
func TestAfterTheResponseHasBegun(t *testing.T) {
	rig.Matrix(t, func(t *testing.T, client, upstream string) {
		step := newLimit(t, 1000)
		g := rig.New(t, rig.Setup{Wrap: step.Wrap, Upstream: upstream, Endpoint: func(w http.ResponseWriter,
			r *http.Request,
		) {
			control := http.NewResponseController(w)
			_ = control.EnableFullDuplex()
			_, _ = io.ReadFull(r.Body, make([]byte, 100))
			_, _ = io.WriteString(w, "begun")
			_ = control.Flush()
			_, _ = io.Copy(io.Discard, r.Body)
		}})
		reader, writer := io.Pipe()
		defer writer.Close() //nolint:errcheck // a test's
		go func() { _, _ = writer.Write(make([]byte, 100)) }()
		response, err := g.Client(client).Do(g.Request(http.MethodPost, "/", reader))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close() //nolint:errcheck // a test's
		if _, err := io.ReadFull(response.Body, make([]byte, 5)); err != nil || response.StatusCode != 200 {
			t.Fatalf("got %d, %v", response.StatusCode, err)
		}
		go func() { _, _ = writer.Write(make([]byte, 2000)) }()
		if rest, err := io.ReadAll(response.Body); err == nil {
			t.Errorf("the client takes the response for a whole one: %q", rest)
		}
		if record := g.Record(); record.Status != 200 || !strings.Contains(record.Reason, "maxRequestBodyBytes, 1000") {
			t.Errorf("recorded %d, %q", record.Status, record.Reason)
		}
	})
}

// TestExpectContinue sends Expect: 100-continue.
func TestExpectContinue(t *testing.T) {
	step := newLimit(t, 1000)
	g := rig.New(t, rig.Setup{Wrap: step.Wrap, Endpoint: echo})
	_, reader := g.Raw("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1001\r\n\r\n")
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, response.Body)
	if response.StatusCode != 413 || !response.Close {
		t.Errorf("got %d, close %v", response.StatusCode, response.Close)
	}
	if rest, err := io.ReadAll(reader); err != nil || len(rest) > 0 {
		t.Errorf("the connection goes on: %q, %v", rest, err)
	}
}

// TestEarlyAnswers are complete before the body is.
func TestEarlyAnswers(t *testing.T) {
	step := newLimit(t, 1000)
	g := rig.New(t, rig.Setup{Wrap: step.Wrap, Endpoint: func(w http.ResponseWriter, _ *http.Request) {
		control := http.NewResponseController(w)
		_ = control.EnableFullDuplex()
		w.Header().Set("Content-Length", "0")
		w.WriteHeader(http.StatusForbidden)
		_ = control.Flush()
	}})
	_, reader := g.Raw("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n")
	response, err := http.ReadResponse(reader, nil)
	if err != nil || response.StatusCode != http.StatusForbidden {
		t.Fatalf("got %+v, %v", response, err)
	}
}

// TestUpgradedConnections carry more bytes than a body may have.
func TestUpgradedConnections(t *testing.T) {
	step := newLimit(t, 10)
	g := rig.New(t, rig.Setup{Wrap: step.Wrap, Endpoint: func(w http.ResponseWriter, _ *http.Request) {
		conn, buffers, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close() //nolint:errcheck // a test's
		_, _ = buffers.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		_ = buffers.Flush()
		_, _ = io.Copy(conn, buffers)
	}})
	conn, reader := g.Raw("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	response, err := http.ReadResponse(reader, nil)
	if err != nil || response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("got %+v, %v", response, err)
	}
	text := strings.Repeat("x", 5000)
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(text))
	if _, err := io.ReadFull(reader, got); err != nil || string(got) != text {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	if got := step.Counts()["too_large"]; got != 0 {
		t.Errorf("counted %d", got)
	}
}

func BenchmarkBodyLimit(b *testing.B) {
	handler := newLimit(b, 1000).Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	body := io.NopCloser(strings.NewReader("body"))
	for name, length := range map[string]int64{"no body": 0, "known length": 4, "chunks": -1} {
		b.Run(name, func(b *testing.B) {
			r := middlewaretest.Request(b, "POST /")
			r.ContentLength = length
			b.ReportAllocs()
			for b.Loop() {
				if r.Body = http.NoBody; length != 0 {
					r.Body = body
				}
				handler.ServeHTTP(nil, r)
			}
		})
	}
}
