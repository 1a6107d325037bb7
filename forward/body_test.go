package forward_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/forward"
	"github.com/sluiceproxy/sluice/http1/http1test"
)

func echo(w http.ResponseWriter, r *http.Request) {
	w.Header()["Content-Type"] = r.Header["Content-Type"]
	_ = http.NewResponseController(w).EnableFullDuplex()
	buffer := make([]byte, 32<<10)
	for {
		n, err := r.Body.Read(buffer)
		if n > 0 {
			_, _ = w.Write(buffer[:n])
			_ = http.NewResponseController(w).Flush()
		}
		if err != nil {
			return
		}
	}
}

// pattern reads as size bytes that a checksum distinguishes from others.
type pattern struct {
	block    []byte
	left, at int
}

func newPattern(size int) *pattern {
	block := make([]byte, 1<<20+7)
	rand.NewChaCha8([32]byte{}).Read(block) //nolint:errcheck // never fails
	return &pattern{block: block, left: size}
}

func (p *pattern) Read(b []byte) (int, error) {
	if p.left == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), p.left)], p.block[p.at:])
	p.at, p.left = (p.at+n)%len(p.block), p.left-n
	return n, nil
}

func digest(t *testing.T, r io.Reader) string {
	t.Helper()
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	n, err := io.Copy(sum, r)
	if err != nil {
		t.Error(err)
	}
	return fmt.Sprintf("%d bytes, %x", n, sum.Sum32())
}

// TestLargeBodies sends 64 MiB up and down, with a length and without, while the heap stays small.
func TestLargeBodies(t *testing.T) {
	const size = 64 << 20
	want := digest(t, newPattern(size))
	for path, s := range map[string]setup{
		"/unknown": {front: "h1", upstream: "h1"},
		"/known":   {front: "h2", upstream: "h2c"},
	} {
		var largest atomic.Uint64
		g := newRig(t, s, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if got := digest(t, r.Body); got != want {
				t.Errorf("%s: the endpoint got %s, want %s", path, got, want)
			}
			var stats runtime.MemStats
			runtime.ReadMemStats(&stats)
			largest.Store(max(largest.Load(), stats.HeapInuse))
			if path == "/known" {
				w.Header().Set("Content-Length", fmt.Sprint(size))
			}
			_, _ = io.Copy(w, newPattern(size))
		}))
		r := request(t, http.MethodPost, g.url+path, newPattern(size)).WithContext(t.Context()) // It takes its time.
		if path == "/known" {
			r.ContentLength = size
		}
		response, err := g.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := digest(t, response.Body); got != want {
			t.Errorf("%s: the client got %s, want %s", path, got, want)
		}
		_ = response.Body.Close()
		if got := largest.Load(); got > 48<<20 {
			t.Errorf("%s: the heap grew to %d MiB", path, got>>20)
		}
	}
}

// TestFullDuplex answers each piece of the body before the next is sent.
func TestFullDuplex(t *testing.T) {
	matrix(t, func(t *testing.T, s setup) {
		g := newRig(t, s, http.HandlerFunc(echo))
		reader, writer := io.Pipe()
		r := request(t, http.MethodPost, g.url, reader)
		go func() { _, _ = io.WriteString(writer, "piece 0") }()
		response, err := g.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close() //nolint:errcheck // a test's
		for i := range 5 {
			if i > 0 {
				_, _ = fmt.Fprintf(writer, "piece %d", i)
			}
			got := make([]byte, 7)
			if _, err := io.ReadFull(response.Body, got); err != nil {
				t.Fatal(err)
			}
			equal(t, "piece", string(got), fmt.Sprintf("piece %d", i))
		}
		_ = writer.Close()
		if rest, err := io.ReadAll(response.Body); err != nil || len(rest) > 0 {
			t.Errorf("then %q, %v", rest, err)
		}
	})
}

// TestAnswerBeforeTheBody answers without reading any of a body that does not end.
func TestAnswerBeforeTheBody(t *testing.T) {
	matrix(t, func(t *testing.T, s setup) {
		sent := make(chan struct{})
		g := newRig(t, s, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select { // What a client sends after the connection was closed behind the answer meets a reset.
			case <-sent:
			case <-r.Context().Done():
			}
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			_, _ = io.WriteString(w, "too large")
		}))
		reader, writer := io.Pipe()
		// More than a server of net/http reads before it answers, and no more than that and the sockets hold: what does not
		// fit could meet a reset, which a client may see before it sees the answer.
		go func() {
			_, _ = writer.Write(make([]byte, 300<<10))
			close(sent)
		}()
		response, err := g.client.Do(request(t, http.MethodPost, g.url, reader))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "answer", fmt.Sprint(response.StatusCode, string(body)), "413too large")
		_ = writer.Close()
		_ = response.Body.Close()
		equal(t, "record", g.record(t).Status, 413)
	})
}

// TestNoReadAfterTheEnd answers early: no goroutine of the exchange may wait for the client then.
func TestNoReadAfterTheEnd(t *testing.T) {
	for _, front := range []string{"h1", "h2", "h2c"} {
		reading := make(chan int32, 1)
		around := func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body := &counting{ReadCloser: r.Body}
				r.Body = body
				next.ServeHTTP(w, r)
				reading <- body.reading.Load()
			})
		}
		g := newRig(t, setup{front: front, around: around}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).EnableFullDuplex()
			_, _ = io.ReadFull(r.Body, make([]byte, 5))
			_, _ = io.WriteString(w, "enough")
		}))
		reader, writer := io.Pipe()
		go func() { _, _ = io.WriteString(writer, "piece") }()
		response, body := g.do(t, request(t, http.MethodPost, g.url, reader))
		equal(t, front, fmt.Sprint(response.StatusCode, body), "200enough")
		equal(t, front+": reads under way", <-reading, int32(0))
		equal(t, front+": reason", g.record(t).Reason, "")
		_ = writer.Close()
	}
}

type counting struct {
	io.ReadCloser
	reading atomic.Int32
}

func (c *counting) Read(p []byte) (int, error) {
	c.reading.Add(1)
	defer c.reading.Add(-1)
	return c.ReadCloser.Read(p)
}

func TestRequestTrailers(t *testing.T) {
	matrix(t, func(t *testing.T, s setup) {
		trailers := make(chan http.Header, 1)
		g := newRig(t, s, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			trailers <- r.Trailer
		}))
		body := &trailing{Reader: strings.NewReader("body")}
		r := request(t, http.MethodPost, g.url, body)
		r.Trailer = http.Header{"X-Sum": nil, "X-Forwarded-For": nil}
		body.end = func() { r.Trailer["X-Sum"], r.Trailer["X-Forwarded-For"] = []string{"42"}, []string{"192.0.2.7"} }
		g.do(t, r)
		equal(t, "trailers", <-trailers, http.Header{"X-Sum": {"42"}})
	})
}

type trailing struct {
	io.Reader
	end func()
}

func (b *trailing) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil {
		b.end()
	}
	return n, err
}

func TestRequestTrailersThatNothingAnnounced(t *testing.T) {
	for _, upstream := range []string{"h1", "h2", "h2c"} {
		seen := make(chan string, 1)
		g := newRig(t, setup{upstream: upstream}, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			seen <- r.Trailer.Get("X-Sum")
		}))
		g.raw(t, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\nX-Sum: 42\r\n\r\n")
		want := "42"
		if upstream != "h1" {
			want = "" // net/http's HTTP/2 server hands on only what was announced
		}
		equal(t, upstream+": trailer", <-seen, want)
	}
}

// TestTrailersThatAreNoFields announces what net/http's server takes from a client, and its transport to no endpoint.
func TestTrailersThatAreNoFields(t *testing.T) {
	for _, upstream := range []string{"h1", "h2c"} {
		trailers := make(chan http.Header, 1)
		g := newRig(t, setup{upstream: upstream}, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			trailers <- r.Trailer
		}))
		_, reader := g.raw(t,
			"POST / HTTP/1.1\r\nHost: a\r\nTrailer: a b, \"c\", X-Good\r\nTransfer-Encoding: chunked\r\n\r\n"+
				"0\r\nX-Good: 1\r\n\r\n")
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, upstream+": answer", fmt.Sprint(response.StatusCode, g.record(t).Reason), "200")
		equal(t, upstream+": trailers", wait(t, "the request", trailers), http.Header{"X-Good": {"1"}})
		if member := memberOf(g.pool); member.Endpoint().ConnectFailures() != 0 {
			t.Errorf("%s: a failure of the endpoint is counted", upstream)
		}
	}
}

func TestResponseTrailers(t *testing.T) {
	matrix(t, func(t *testing.T, s setup) {
		g := newRig(t, s, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Trailer", "X-Announced, X-Never")
			w.WriteHeader(http.StatusOK)
			if r.URL.Path != "/empty" {
				_, _ = io.WriteString(w, "body")
			}
			w.Header().Set("X-Announced", "1")
			w.Header().Set(http.TrailerPrefix+"X-Late", "2")
		}))
		for _, path := range []string{"/", "/empty"} {
			response, _ := g.get(t, path)
			got := response.Trailer.Clone()
			if len(got["X-Never"]) == 0 {
				delete(got, "X-Never")
			}
			equal(t, path, got, http.Header{"X-Announced": {"1"}, "X-Late": {"2"}})
			if values := response.Header["X-Announced"]; values != nil {
				t.Errorf("%s: a trailer came as a header: %v", path, values)
			}
		}
	})
}

// TestForbiddenTrailers announces only a trailer that is not forwarded.
func TestForbiddenTrailers(t *testing.T) {
	g := newProxy(t, setup{server: scripted(t,
		says("HTTP/1.1 200 OK\r\nTrailer: X-Forwarded-For\r\nTransfer-Encoding: chunked\r\n\r\n"+
			"0\r\nX-Forwarded-For: 192.0.2.7\r\n\r\n"))})
	_, reader := g.raw(t, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	answer, err := io.ReadAll(reader)
	if err != nil || strings.Contains(string(answer), "Trailer") || strings.Contains(string(answer), "X-Forwarded-For") {
		t.Errorf("got %q, %v", answer, err)
	}
}

func TestExpectContinue(t *testing.T) {
	refused := make(chan time.Time, 5)
	g := newRig(t, setup{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/refuse" {
			w.Header().Set("Content-Length", "0")
			w.WriteHeader(http.StatusExpectationFailed)
			_ = http.NewResponseController(w).Flush()
			refused <- time.Now()
			return
		}
		_, _ = io.Copy(w, r.Body)
	}))
	conn, reader := g.raw(t, "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
	line, err := reader.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "HTTP/1.1 100 ") {
		t.Fatalf("got %q, %v", line, err)
	}
	_, _ = reader.ReadString('\n')
	_, _ = io.WriteString(conn, "body")
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(response.Body)
	equal(t, "answer", fmt.Sprint(response.StatusCode, string(body)), "200body")

	for range 5 { // The endpoint has a second for its answer. If the machine loses half of it, there is another try.
		began := time.Now()
		_, reader = g.raw(t, "POST /refuse HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
		line, err = reader.ReadString('\n')
		took := http1test.Receive(t, refused, "the refusal").Sub(began)
		if !strings.HasPrefix(line, "HTTP/1.1 100 ") || took < 500*time.Millisecond {
			break
		}
	}
	if err != nil || !strings.HasPrefix(line, "HTTP/1.1 417 ") {
		t.Errorf("the endpoint refused, the client got %q, %v", line, err)
	}
}

func TestBrokenRequestBodies(t *testing.T) {
	limited := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/limited" {
				r.Body = http.MaxBytesReader(w, r.Body, 10)
			}
			if r.URL.Path == "/slow" {
				_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(50 * time.Millisecond))
			}
			next.ServeHTTP(w, r)
		})
	}
	read := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	g := newRig(t, setup{around: limited}, read)
	for _, test := range []struct {
		name, request string
		status        int
		leave         bool
	}{
		{"bad chunk", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400, false},
		{
			"too large",
			"POST /limited HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n14\r\n01234567890123456789\r\n0\r\n\r\n",
			413, false,
		},
		{"too slow", "POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabc", 408, false},
		{"cut off", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabc", forward.StatusClientClosedRequest, true},
	} {
		conn, reader := g.raw(t, test.request)
		if test.leave {
			_ = conn.(*net.TCPConn).CloseWrite()
		}
		if !test.leave {
			response, err := http.ReadResponse(reader, nil)
			if err != nil {
				t.Fatal(test.name, err)
			}
			equal(t, test.name, response.StatusCode, test.status)
		}
		record := g.record(t)
		equal(t, test.name+": record", record.Status, test.status)
		if !strings.Contains(record.Reason, "client") && !strings.Contains(record.Reason, "request body") {
			t.Errorf("%s: reason %q is another", test.name, record.Reason)
		}
	}
	for member := range g.pool.Snapshot().Members() {
		equal(t, "connect failures", member.Endpoint().ConnectFailures(), 0)
	}
}

// TestBodiesAreNotDecompressed sends bodies both ways that are ten thousand times larger when they are decompressed.
// They arrive byte by byte, whatever the client accepts, with the header that describes them.
func TestBodiesAreNotDecompressed(t *testing.T) {
	const size = 16 << 20
	var gzipped, deflated bytes.Buffer
	compressor, _ := flate.NewWriter(&deflated, flate.BestCompression)
	for _, w := range []io.WriteCloser{gzip.NewWriter(&gzipped), compressor} {
		if _, err := io.CopyN(w, zeros{}, size); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	bodies := map[string][]byte{"gzip": gzipped.Bytes(), "deflate": deflated.Bytes(), "br": []byte("is none")}
	matrix(t, func(t *testing.T, s setup) {
		g := newRig(t, s, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			coding := r.Header.Get("Content-Encoding")
			if err != nil || !bytes.Equal(body, bodies[coding]) || r.ContentLength != int64(len(body)) {
				t.Errorf("%q: %d bytes came, %v", coding, len(body), err)
			}
			w.Header().Set("Content-Encoding", coding)
			_, _ = w.Write(body)
		}))
		for coding, body := range bodies {
			for _, accepted := range []string{"identity", "gzip, deflate, br"} {
				r := request(t, http.MethodPost, g.url, bytes.NewReader(body))
				r.Header.Set("Content-Encoding", coding)
				r.Header.Set("Accept-Encoding", accepted)
				response, got := g.do(t, r)
				if got != string(body) || response.Header.Get("Content-Encoding") != coding {
					t.Errorf("%s, accepting %s: %d bytes, %v", coding, accepted, len(got), response.Header)
				}
			}
		}
	})
}

// zeros reads as zeros without end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
