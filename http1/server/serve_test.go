package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/http1/server"
)

func TestServeOneRequest(t *testing.T) {
	t.Parallel()
	g := serve(t, hello)
	conn, reader := g.Open(get)
	response, body := answer(t, reader)
	if response.StatusCode != 200 || body != "hello" || response.ContentLength != 5 || response.Header.Get("Date") == "" ||
		response.Close {
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
	conn, reader := g.Open("PUT /a%20b?c HTTP/1.1\r\nhost: example.com\r\nx: 1\r\ncontent-length: 0\r\n\r\n")
	answer(t, reader)
	r := http1test.Receive(t, seen, "the request")
	if r.Method != "PUT" || r.URL.Path != "/a b" || r.URL.RawQuery != "c" || r.RequestURI != "/a%20b?c" ||
		r.Host != "example.com" || r.Proto != "HTTP/1.1" ||
		!r.ProtoAtLeast(1, 1) || r.RemoteAddr != conn.LocalAddr().String() || r.ContentLength != 0 || r.Body != http.NoBody ||
		r.TLS != nil || r.Close {
		t.Errorf("%+v", r)
	}
	if diff := cmp.Diff(http.Header{"X": {"1"}, "Content-Length": {"0"}}, r.Header); diff != "" {
		t.Error(diff)
	}
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); !ok || local.String() != g.Address {
		t.Errorf("local address %v", local)
	}
}

func TestServerBodies(t *testing.T) {
	t.Parallel()
	g := serve(t, echo)
	large := strings.Repeat("0123456789abcdef", 10_000)
	for _, test := range []struct{ name, sent, want string }{
		{"fixed", post("Content-Length: 4") + "body", `"body" <nil>`},
		{
			"chunked", post("Transfer-Encoding: chunked") + "4;x=y\r\nbody\r\nA\r\n0123456789\r\n0\r\n\r\n",
			`"body0123456789" <nil>`,
		},
		{"trailers", post("Transfer-Encoding: chunked") + "4\r\nbody\r\n0\r\nX: 1\r\n\r\n", `"body" <nil>`},
		{"large", post(fmt.Sprint("Content-Length: ", len(large))) + large, fmt.Sprintf("%q <nil>", large)},
		{
			"large in chunks", post("Transfer-Encoding: chunked") + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(large), large),
			fmt.Sprintf("%q <nil>", large),
		},
		{"bad chunk", post("Transfer-Encoding: chunked") + "zz\r\n", `"" invalid chunk size (RFC 9112, section 7.1)`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			conn, reader := g.Open(test.sent)
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
	_, reader := g.Open(sent.String())
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
	conn := g.Dial()
	for _, b := range []byte("\r\n" + post("Content-Length: 2") + "xy") {
		say(t, conn, string(b))
	}
	if _, body := answer(t, bufio.NewReader(conn)); body != `POST / a "xy" <nil>` {
		t.Errorf("got %q", body)
	}
}

func TestLargeHead(t *testing.T) {
	t.Parallel()
	g := newRig(t, &server.Server{
		MaxHeaderBytes: 64 << 10, MaxHeaderFields: 300,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = fmt.Fprint(w, len(r.Header), len(r.Header.Get("Long")))
		}),
	}, nil)
	var lines strings.Builder
	for i := range 200 {
		fmt.Fprintf(&lines, "H-%d: %d\r\n", i, i)
	}
	lines.WriteString("Long: " + strings.Repeat("x", 40_000) + "\r\n")
	conn, reader := g.Open("GET / HTTP/1.1\r\nHost: a\r\n" + lines.String() + "\r\n")
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
		if got := g.Raw(sent); !strings.HasPrefix(got, "HTTP/1.1 "+status) {
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
		{
			"trailers", get, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Trailer", "X-A, Content-Length")
				_, _ = io.WriteString(w, "ab")
				w.Header().Set("X-A", "1")
				w.Header().Set(http.TrailerPrefix+"X-A", "2")
			},
			[]string{"HTTP/1.1 200 OK", "Trailer: X-A, Content-Length", "Transfer-Encoding: chunked"},
			"2\r\nab\r\n0\r\nX-A: 2\r\n\r\n",
		},
		{"late trailers", get, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "ab")
			w.Header().Set(http.TrailerPrefix+"X-A", "2")
		}, []string{"HTTP/1.1 200 OK", "Transfer-Encoding: chunked"}, "2\r\nab\r\n0\r\nX-A: 2\r\n\r\n"},
	}
}

func closingResponseCases() []responseCase {
	return []responseCase{
		{
			"HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", hello,
			[]string{"HTTP/1.1 200 OK", "Connection: close", "Content-Length: 5"},
			"hello",
		},
		{"HTTP/1.0 stream", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", func(w http.ResponseWriter, r *http.Request) {
			hello(w, r)
			w.(http.Flusher).Flush()
		}, []string{"HTTP/1.1 200 OK", "Connection: close"}, "hello"},
		{"HTTP/1.0 kept alive", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", hello, []string{
			"HTTP/1.1 200 OK", "Connection: keep-alive", "Content-Length: 5",
		}, "hello"},
		{"client closes", "GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n", hello, []string{
			"HTTP/1.1 200 OK", "Connection: close", "Content-Length: 5",
		}, "hello"},
		{"handler closes", get, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Connection", "close")
		}, []string{
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
		{"404 for HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(103)
			w.WriteHeader(404)
		}, []string{
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
			conn, _ := g.Open(test.sent)
			_ = conn.(*net.TCPConn).CloseWrite()
			got, err := io.ReadAll(conn)
			if err != nil {
				t.Fatal(err)
			}
			head, body, _ := strings.Cut(string(got), "\r\n\r\n")
			lines := strings.Split(head, "\r\n")
			first, rest := lines[0], lines[1:]
			kept := []string{first}
			for _, name := range []string{
				"Connection", "Content-Length", "Late", "Link", "Trailer", "Transfer-Encoding", "X",
				"Y",
			} {
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
	conn := g.Dial()
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
