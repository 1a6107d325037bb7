package http1

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestServeOneRequest(t *testing.T) {
	t.Parallel()
	g := serve(t, hello)
	conn, reader := g.open(get)
	response, body := answer(t, reader)
	if response.StatusCode != 200 || body != "hello" || response.ContentLength != 5 || response.Header.Get("Date") == "" || response.Close {
		t.Errorf("%+v %q", response, body)
	}
	say(t, conn, get)
	if _, body := answer(t, reader); body != "hello" {
		t.Errorf("second: %q", body)
	}
}

func TestRequestFields(t *testing.T) {
	t.Parallel()
	seen := make(chan *http.Request, 1)
	g := serve(t, func(_ http.ResponseWriter, r *http.Request) { seen <- r })
	conn, reader := g.open("PUT /a%20b?c HTTP/1.1\r\nhost: example.com\r\nx: 1\r\ncontent-length: 0\r\n\r\n")
	answer(t, reader)
	r := receive(t, seen, "the request")
	if r.Method != "PUT" || r.URL.Path != "/a b" || r.URL.RawQuery != "c" || r.RequestURI != "/a%20b?c" || r.Host != "example.com" || r.Proto != "HTTP/1.1" ||
		!r.ProtoAtLeast(1, 1) || r.RemoteAddr != conn.LocalAddr().String() || r.ContentLength != 0 || r.Body != http.NoBody || r.TLS != nil || r.Close {
		t.Errorf("%+v", r)
	}
	if diff := cmp.Diff(http.Header{"X": {"1"}, "Content-Length": {"0"}}, r.Header); diff != "" {
		t.Error(diff)
	}
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); !ok || local.String() != g.address {
		t.Errorf("local address %v", local)
	}
}

func TestServerBodies(t *testing.T) {
	t.Parallel()
	g := serve(t, echo)
	large := strings.Repeat("0123456789abcdef", 10_000)
	for _, test := range []struct{ name, sent, want string }{
		{"fixed", post("Content-Length: 4") + "body", `"body" <nil>`},
		{"chunked", post("Transfer-Encoding: chunked") + "4;x=y\r\nbody\r\nA\r\n0123456789\r\n0\r\n\r\n", `"body0123456789" <nil>`},
		{"trailers", post("Transfer-Encoding: chunked") + "4\r\nbody\r\n0\r\nX: 1\r\n\r\n", `"body" <nil>`},
		{"large", post(fmt.Sprint("Content-Length: ", len(large))) + large, fmt.Sprintf("%q <nil>", large)},
		{"large in chunks", post("Transfer-Encoding: chunked") + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(large), large), fmt.Sprintf("%q <nil>", large)},
		{"bad chunk", post("Transfer-Encoding: chunked") + "zz\r\n", `"" invalid chunk size (RFC 9112, section 7.1)`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			conn, reader := g.open(test.sent)
			if _, body := answer(t, reader); !strings.HasSuffix(body, test.want) {
				t.Errorf("got %q, want %q", body, test.want)
			}
			_, _ = io.WriteString(conn, get)
			if test.name == "bad chunk" {
				if rest, _ := io.ReadAll(reader); len(rest) > 0 {
					t.Errorf("then %q", rest)
				}
				return
			}
			if _, body := answer(t, reader); !strings.HasPrefix(body, "GET /") {
				t.Errorf("then %q", body)
			}
		})
	}
}

func TestServerPipelining(t *testing.T) {
	t.Parallel()
	g := serve(t, echo)
	var sent strings.Builder
	const n = 200
	for i := range n {
		fmt.Fprintf(&sent, "POST /%d HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nxy", i)
	}
	_, reader := g.open(sent.String())
	for i := range n {
		if _, body := answer(t, reader); body != fmt.Sprintf(`POST /%d a "xy" <nil>`, i) {
			t.Fatalf("answer %d: %q", i, body)
		}
	}
}

// TestHeadInPieces sends a head byte by byte.
func TestHeadInPieces(t *testing.T) {
	t.Parallel()
	g := serve(t, echo)
	conn := g.dial()
	for _, b := range []byte("\r\n" + post("Content-Length: 2") + "xy") {
		say(t, conn, string(b))
	}
	if _, body := answer(t, bufio.NewReader(conn)); body != `POST / a "xy" <nil>` {
		t.Errorf("got %q", body)
	}
}

func TestLargeHead(t *testing.T) {
	t.Parallel()
	g := newRig(t, &Server{MaxHeaderBytes: 64 << 10, MaxHeaderFields: 300, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, len(r.Header), len(r.Header.Get("Long")))
	})}, nil)
	var lines strings.Builder
	for i := range 200 {
		fmt.Fprintf(&lines, "H-%d: %d\r\n", i, i)
	}
	lines.WriteString("Long: " + strings.Repeat("x", 40_000) + "\r\n")
	conn, reader := g.open("GET / HTTP/1.1\r\nHost: a\r\n" + lines.String() + "\r\n")
	for range 2 {
		if _, body := answer(t, reader); body != "201 40000" {
			t.Fatalf("got %q", body)
		}
		say(t, conn, "GET / HTTP/1.1\r\nHost: a\r\n"+lines.String()+"\r\n")
	}
	for sent, status := range map[string]string{
		"GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 70_000) + "\r\n\r\n": "431",
		"GET /" + strings.Repeat("x", 70_000) + " HTTP/1.1\r\nHost: a\r\n\r\n":        "414",
		"GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("X: 1\r\n", 300) + "\r\n":    "431",
	} {
		if got := g.raw(sent); !strings.HasPrefix(got, "HTTP/1.1 "+status) {
			t.Errorf("got %.40q, want %s", got, status)
		}
	}
}

// responseCase is an answer of a handler as it comes out.
type responseCase struct {
	name, sent string
	handler    http.HandlerFunc
	// want are lines that the answer has, in the order of the alphabet, without Date.
	want []string
	body string
}

func responseCases() []responseCase {
	return []responseCase{
		{"empty", get, func(http.ResponseWriter, *http.Request) {}, []string{"HTTP/1.1 200 OK", "Content-Length: 0"}, ""},
		{"small", get, hello, []string{"HTTP/1.1 200 OK", "Content-Length: 5"}, "hello"},
		{"HEAD", "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", hello, []string{"HTTP/1.1 200 OK", "Content-Length: 5"}, ""},
		{"no content", get, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "5")
			w.WriteHeader(http.StatusNoContent)
			if _, err := w.Write([]byte("x")); err != http.ErrBodyNotAllowed { //nolint:errorlint // as it is
				panic(err)
			}
		}, []string{"HTTP/1.1 204 No Content"}, ""},
		{"declared", get, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "2")
			_, _ = w.Write([]byte("ab"))
			if _, err := w.Write([]byte("c")); err != http.ErrContentLength { //nolint:errorlint // as it is
				panic(err)
			}
		}, []string{"HTTP/1.1 200 OK", "Content-Length: 2"}, "ab"},
		{"flushed", get, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "ab")
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, "c")
		}, []string{"HTTP/1.1 200 OK", "Transfer-Encoding: chunked"}, "2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"},
		{"trailers", get, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "X-A, Content-Length")
			_, _ = io.WriteString(w, "ab")
			w.Header().Set("X-A", "1")
			w.Header().Set(http.TrailerPrefix+"X-A", "2")
		}, []string{"HTTP/1.1 200 OK", "Trailer: X-A, Content-Length", "Transfer-Encoding: chunked"}, "2\r\nab\r\n0\r\nX-A: 2\r\n\r\n"},
		{"late trailers", get, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "ab")
			w.Header().Set(http.TrailerPrefix+"X-A", "2")
		}, []string{"HTTP/1.1 200 OK", "Transfer-Encoding: chunked"}, "2\r\nab\r\n0\r\nX-A: 2\r\n\r\n"},
	}
}

func closingResponseCases() []responseCase {
	return []responseCase{
		{"HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", hello, []string{"HTTP/1.1 200 OK", "Connection: close", "Content-Length: 5"}, "hello"},
		{"HTTP/1.0 stream", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", func(w http.ResponseWriter, r *http.Request) {
			hello(w, r)
			w.(http.Flusher).Flush()
		}, []string{"HTTP/1.1 200 OK", "Connection: close"}, "hello"},
		{"HTTP/1.0 kept alive", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", hello, []string{
			"HTTP/1.1 200 OK", "Connection: keep-alive", "Content-Length: 5",
		}, "hello"},
		{"asked to close", "GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n", hello, []string{
			"HTTP/1.1 200 OK", "Connection: close", "Content-Length: 5",
		}, "hello"},
		{"handler closes", get, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") }, []string{
			"HTTP/1.1 200 OK", "Connection: close", "Content-Length: 0",
		}, ""},
		{"injection", get, func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["X"] = []string{"1\r\nY: 2"}
			w.Header()["Bad\r\nName"] = []string{"1"}
		}, []string{"HTTP/1.1 200 OK", "Content-Length: 0", "X: 1  Y: 2"}, ""},
		{"own date", get, func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Date"] = nil
			w.Header().Set("Transfer-Encoding", "gzip")
			w.WriteHeader(299)
			w.WriteHeader(500)
			w.Header().Set("Late", "1")
		}, []string{"HTTP/1.1 299 status code 299", "Content-Length: 0"}, ""},
		{"early hints", get, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Link", "</a>")
			w.WriteHeader(http.StatusEarlyHints)
			w.Header().Del("Link")
			w.WriteHeader(http.StatusAccepted)
		}, []string{"HTTP/1.1 103 Early Hints", "Link: </a>"}, "HTTP/1.1 202 Accepted\r\nDATEContent-Length: 0\r\n\r\n"},
		{"404 for HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(103); w.WriteHeader(404) }, []string{
			"HTTP/1.1 404 Not Found", "Connection: close", "Content-Length: 0",
		}, ""},
	}
}

func TestServerResponses(t *testing.T) {
	t.Parallel()
	for _, test := range append(responseCases(), closingResponseCases()...) {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			g := serve(t, test.handler)
			conn, _ := g.open(test.sent)
			_ = conn.(*net.TCPConn).CloseWrite()
			got, err := io.ReadAll(conn)
			if err != nil {
				t.Fatal(err)
			}
			head, body, _ := strings.Cut(string(got), "\r\n\r\n")
			lines := strings.Split(head, "\r\n")
			first, rest := lines[0], lines[1:]
			kept := []string{first}
			for _, name := range []string{"Connection", "Content-Length", "Late", "Link", "Trailer", "Transfer-Encoding", "X", "Y"} {
				for _, line := range rest {
					if strings.HasPrefix(line, name+": ") {
						kept = append(kept, line)
					}
				}
			}
			if at := strings.Index(body, "Date: "); at >= 0 {
				end := at + strings.Index(body[at:], "\n") + 1
				body = body[:at] + "DATE" + body[end:]
			}
			if diff := cmp.Diff(test.want, kept); diff != "" || body != test.body {
				t.Errorf("%s body %q, want %q", diff, body, test.body)
			}
		})
	}
}

// TestServerLargeResponses writes bodies of all sizes around the buffers, in pieces of all sizes.
func TestServerLargeResponses(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("0123456789abcdefghijklmnopqrstuvwxyz", 2000)
	g := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var size, piece, declared int
		if _, err := fmt.Sscanf(r.URL.RawQuery, "%d,%d,%d", &size, &piece, &declared); err != nil {
			t.Error(err)
		}
		if declared > 0 {
			w.Header().Set("Content-Length", fmt.Sprint(size))
		}
		for at := 0; at < size; at += piece {
			if _, err := io.WriteString(w, text[at:min(at+piece, size)]); err != nil {
				t.Error(err)
			}
		}
	})
	conn := g.dial()
	reader := bufio.NewReader(conn)
	for _, size := range []int{1, 2047, 4096, 7000, 7990, 8000, 8010, 8192, 9000, 20_000, 70_000} {
		for _, piece := range []int{1, 7, 1000, 2047, 2048, 5000, 70_000} {
			for declared := range 2 {
				for _, version := range []string{"1.1"} {
					say(t, conn, fmt.Sprintf("GET /?%d,%d,%d HTTP/%s\r\nHost: a\r\n\r\n", size, piece, declared, version))
					if _, body := answer(t, reader); body != text[:size] {
						t.Fatalf("%d bytes in pieces of %d, declared %d: got %d bytes", size, piece, declared, len(body))
					}
				}
			}
		}
	}
}

// TestServerCloseEndsHandlers closes the server while a handler waits for nothing but the end of its context.
func TestServerCloseEndsHandlers(t *testing.T) {
	t.Parallel()
	running, ended := make(chan struct{}), make(chan error, 1)
	g := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		close(running)
		<-r.Context().Done()
		ended <- r.Context().Err()
	})
	g.open(get)
	receive(t, running, "the request")
	_ = g.server.Close()
	if err := receive(t, ended, "the end of the handler"); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestServerUnreadBodies sends a body that the handler does not read, and looks at what becomes of the connection.
func TestServerUnreadBodies(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, request string
		flush         bool
		answers       int
		closes        bool
	}{
		{"read in passing", post("Content-Length: 4") + "body", false, 2, false},
		{"read in passing after a flush", post("Content-Length: 4") + "body", true, 2, false},
		{"chunks", post("Transfer-Encoding: chunked") + "4\r\nbody\r\n0\r\n\r\n", false, 2, false},
		{"bad chunks", post("Transfer-Encoding: chunked") + "zz\r\n", false, 1, false},
		{"bad chunks after a flush", post("Transfer-Encoding: chunked") + "zz\r\n", true, 1, false},
		{"incomplete", post("Content-Length: 1000") + "body", false, 1, false},
		{"too long", post("Content-Length: 400000") + strings.Repeat("x", 399_000), false, 1, true},
		{"endless chunks", post("Transfer-Encoding: chunked") + strings.Repeat("3e8\r\n"+strings.Repeat("x", 1000)+"\r\n", 300), false, 1, false},
		{"100-continue not asked for", post("Content-Length: 4", "Expect: 100-continue"), false, 1, true},
		{"100-continue not asked for before a flush", post("Content-Length: 4", "Expect: 100-continue"), true, 1, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var mutex sync.Mutex
			var seen []string
			g := serve(t, func(w http.ResponseWriter, r *http.Request) {
				mutex.Lock()
				seen = append(seen, r.URL.Path)
				mutex.Unlock()
				_, _ = io.WriteString(w, "answer")
				if test.flush {
					_ = http.NewResponseController(w).Flush()
				}
			})
			conn := g.dial()
			go func() {
				_, _ = io.WriteString(conn, test.request+"GET /after HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
			}()
			reader := bufio.NewReader(conn)
			response, _ := answer(t, reader)
			if response.Close != test.closes {
				t.Errorf("Connection: close is %v", response.Close)
			}
			rest, err := io.ReadAll(reader)
			if got := 1 + strings.Count(string(rest), "HTTP/1.1"); got != test.answers {
				t.Errorf("%d answers, want %d: %q, %v", got, test.answers, rest, err)
			}
			mutex.Lock()
			defer mutex.Unlock()
			if len(seen) != test.answers {
				t.Errorf("the handler saw %q", seen)
			}
		})
	}
}

func TestServerPanics(t *testing.T) {
	t.Parallel()
	reports := make(chan string, 10)
	g := newRig(t, &Server{
		Panicked: func(r *http.Request, cause any, stack []byte) {
			reports <- fmt.Sprint(r.URL.Path, cause, strings.Contains(string(stack), "panic"))
		},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/late" {
				_, _ = io.WriteString(w, "part")
				w.(http.Flusher).Flush()
			}
			if r.URL.Path == "/abort" {
				panic(http.ErrAbortHandler)
			}
			panic("boom")
		}),
	}, nil)
	for _, path := range []string{"/early", "/abort", "/late"} {
		_, reader := g.open("GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n")
		response, err := http.ReadResponse(reader, nil)
		if path == "/late" {
			if _, err := io.ReadAll(response.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("a part passes for the whole: %v", err)
			}
		} else if err == nil {
			t.Errorf("%s: %+v", path, response)
		}
	}
	// HTTP/1.0 has no other end of a body than that of the connection.
	conn, _ := g.open("GET /late HTTP/1.0\r\n\r\n")
	if got, err := io.ReadAll(conn); err == nil {
		t.Errorf("a part passes for the whole: %q", got)
	}
	if got := fmt.Sprint(<-reports, <-reports, <-reports); got != "/earlyboomtrue/lateboomtrue/lateboomtrue" {
		t.Errorf("reported %q", got)
	}
}

func TestServerTimeouts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, sent string
		read, idle time.Duration
	}{
		{"silent", "", 50 * time.Millisecond, 0},
		{"slow head", "GET / HTTP/1.1\r\nHost: a\r\n", 50 * time.Millisecond, 0},
		{"head within the first line", "GE", 50 * time.Millisecond, time.Hour},
		{"idle", get, time.Hour, 50 * time.Millisecond},
		{"idle without its own limit", get, 50 * time.Millisecond, 0},
	} {
		for kind, wrap := range kinds() {
			t.Run(test.name+" "+kind, func(t *testing.T) {
				t.Parallel()
				g := newRig(t, &Server{
					Handler: http.HandlerFunc(hello), ReadTimeout: test.read, IdleTimeout: test.idle,
				}, wrap)
				got := g.raw(test.sent)
				if answered := strings.Contains(got, "hello"); answered != (test.sent == get) {
					t.Errorf("got %q", got)
				}
			})
		}
	}
}

func TestServerSlowBody(t *testing.T) {
	t.Parallel()
	failed := make(chan error, 1)
	g := newRig(t, &Server{ReadTimeout: 50 * time.Millisecond, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/stream":
			w.(http.Flusher).Flush()
		case "/own":
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(time.Hour))
		}
		body, err := io.ReadAll(r.Body)
		if r.URL.Path == "/" {
			failed <- err
		}
		_, _ = fmt.Fprintf(w, "%s %v", body, err)
	})}, nil)
	_, reader := g.open(post("Content-Length: 4") + "b")
	if _, body := answer(t, reader); !strings.HasPrefix(body, "b http1: the client sends") {
		t.Errorf("got %q", body)
	}
	if err := receive(t, failed, "the end of the body"); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%v", err)
	}
	// Once the response has begun, or the handler has said so, the client may be silent for longer.
	for _, path := range []string{"/stream", "/own"} {
		conn, reader := g.open("POST " + path + " HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nx")
		pause := time.NewTimer(120 * time.Millisecond)
		<-pause.C
		say(t, conn, "x"+"GET /next HTTP/1.1\r\nHost: a\r\n\r\n")
		if _, body := answer(t, reader); body != "xx <nil>" {
			t.Errorf("%s: got %q", path, body)
		}
		if _, body := answer(t, reader); body != " <nil>" {
			t.Errorf("%s: then %q", path, body)
		}
	}
}

func TestServerMinRate(t *testing.T) {
	t.Parallel()
	meter := rateMeter{bytes: 1000, waited: 7 * time.Second}
	if got := meter.allowance(100); got != 8*time.Second {
		t.Errorf("after 1000 bytes in 7 s at 100 bytes a second, the client has %v", got)
	}
	meter.waited = 16 * time.Second
	if got := meter.allowance(100); got >= 0 {
		t.Errorf("after 1000 bytes in 16 s at 100 bytes a second, the client has %v", got)
	}
}

func TestServerWriteTimeout(t *testing.T) {
	t.Parallel()
	failed := make(chan error, 1)
	g := newRig(t, &Server{WriteTimeout: 50 * time.Millisecond, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		chunk := make([]byte, 1<<20)
		for {
			if _, err := w.Write(chunk); err != nil {
				failed <- err
				return
			}
		}
	})}, nil)
	g.open(get)
	if err := receive(t, failed, "the end of writing"); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func TestServerShutdown(t *testing.T) {
	t.Parallel()
	begun, release := make(chan struct{}), make(chan struct{})
	g := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			close(begun)
			<-release
		}
		hello(w, r)
	})
	_, idle := g.open(get)
	answer(t, idle)
	fresh := g.dial()
	_, busy := g.open("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n" + get)
	receive(t, begun, "the slow request")
	over := make(chan error, 1)
	go func() { over <- g.server.Shutdown(context.Background()) }()
	if _, err := idle.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("the idle connection: %v", err)
	}
	if _, err := fresh.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the new connection: %v", err)
	}
	expired, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.server.Shutdown(expired); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown did not wait: %v", err)
	}
	close(release)
	if response, body := answer(t, busy); body != "hello" || !response.Close {
		t.Errorf("%+v %q", response, body)
	}
	if err := receive(t, over, "the end"); err != nil {
		t.Error(err)
	}
}

func TestServerRefused(t *testing.T) {
	t.Parallel()
	reasons := make(chan *wire.Error, 1)
	g := newRig(t, &Server{Handler: http.HandlerFunc(hello), Refused: func(_ net.Conn, reason *wire.Error) { reasons <- reason }}, nil)
	got := g.raw("GET / HTTP/1.1\r\n\r\n" + get)
	if !strings.HasPrefix(got, "HTTP/1.1 400 Bad Request\r\n") || strings.Count(got, "HTTP/1.1") != 1 || !strings.Contains(got, "Connection: close\r\n") {
		t.Errorf("got %q", got)
	}
	if reason := receive(t, reasons, "the reason"); reason != wire.ErrNoHost {
		t.Errorf("reason %v", reason)
	}
}

// before gives bytes that were read before.
type before struct {
	*net.TCPConn
	ahead []byte
}

func (b before) ReadAhead() []byte { return b.ahead }

func TestServerReadsAheadFirst(t *testing.T) {
	t.Parallel()
	g := newRig(t, &Server{Handler: http.HandlerFunc(echo)}, func(conn net.Conn) net.Conn {
		return before{conn.(*net.TCPConn), []byte("POST /first HTTP/1.1\r\nHost: a\r\nConte")}
	})
	conn, reader := g.open("nt-Length: 2\r\n\r\nab")
	if _, body := answer(t, reader); body != `POST /first a "ab" <nil>` {
		t.Errorf("got %q", body)
	}
	say(t, conn, get)
	if _, body := answer(t, reader); body != `GET / a "" <nil>` {
		t.Errorf("got %q", body)
	}
}
