package client_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/http1/client"
	"github.com/sluiceproxy/sluice/http1/http1test"
)

// TestUploads sends bodies of every kind and compares what came.
func TestUploads(t *testing.T) {
	large := strings.Repeat("0123456789", 100_000)
	tests := []struct {
		name   string
		body   io.Reader
		length int64
		want   string
	}{
		{"at hand", strings.NewReader("hello"), 5, "hello"},
		{"at hand, not in one page", strings.NewReader(large[:50_000]), 50_000, large[:50_000]},
		{"large", strings.NewReader(large), int64(len(large)), large},
		{"streamed", streamed(strings.NewReader("hello")), 5, "hello"},
		{"streamed, large", streamed(strings.NewReader(large)), int64(len(large)), large},
		{"longer than its length", streamed(strings.NewReader("hello, world")), 5, "hello"},
		{"chunks", streamed(strings.NewReader("hello")), -1, "hello|A: b\r\n\r\n"},
		{"chunks and end at once", streamed(iotest.DataErrReader(strings.NewReader("hello"))), -1, "hello|A: b\r\n\r\n"},
		{"many chunks", streamed(iotest.OneByteReader(strings.NewReader("hello"))), -1, "hello|A: b\r\n\r\n"},
		{"no chunks", streamed(strings.NewReader("")), -1, "|A: b\r\n\r\n"},
		{"large chunks", streamed(strings.NewReader(large)), -1, large + "|A: b\r\n\r\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, body := make(chan string, 2), new(closeCounter)
			endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, _ int) {
				for {
					head := conn.Head()
					if head == "" {
						return
					}
					got <- conn.Body(head)
					body.await(t)
					conn.Say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
				}
			})
			upstream := testUpstream(t, endpoint.Address(), nil)
			r := testRequest(t, "POST", endpoint.Address(), test.body)
			r.ContentLength = test.length
			body.Reader, r.Body = r.Body, body
			if test.length < 0 {
				r.Trailer = http.Header{"A": {"b"}, "Content-Length": {"7"}}
			}
			if answer := take(upstream.RoundTrip(r)); answer.Failed {
				t.Fatal("it failed")
			}
			if diff := cmp.Diff(test.want, http1test.Receive(t, got, "the body")); diff != "" {
				t.Error(diff)
			}
			take(upstream.RoundTrip(testRequest(t, "GET", endpoint.Address(), nil)))
			if n := endpoint.Accepted(); n != 1 {
				t.Errorf("%d connections", n)
			}
		})
	}
}

// TestBodiesThatFail reports the body's error, and the endpoint never sees a complete request.
func TestBodiesThatFail(t *testing.T) {
	cause := errors.New("the client left")
	tests := map[string]struct {
		body   io.Reader
		length int64
		want   error
	}{
		"chunks":         {io.MultiReader(strings.NewReader("hello"), iotest.ErrReader(cause)), -1, cause},
		"length":         {io.MultiReader(strings.NewReader("hello"), iotest.ErrReader(cause)), 10, cause},
		"short":          {strings.NewReader("hello"), 10, client.ErrBodyShort},
		"short, at hand": {io.NopCloser(strings.NewReader("hello")), 10, client.ErrBodyShort},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			ended := make(chan []byte, 1)
			endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, _ int) {
				conn.Head()
				rest, _ := io.ReadAll(conn.R)
				ended <- rest
			})
			r := testRequest(t, "PUT", endpoint.Address(), test.body)
			r.ContentLength = test.length
			if !strings.Contains(name, "at hand") {
				r.Body, r.GetBody = streamed(test.body), nil
			} else {
				r.GetBody = func() (io.ReadCloser, error) { return nil, cause }
			}
			_, err := testUpstream(t, endpoint.Address(), nil).RoundTrip(r)
			if failed, ok := errors.AsType[*client.RequestBodyError](err); !ok || !errors.Is(failed, test.want) {
				t.Errorf("the error is %v", err)
			}
			if strings.Contains(name, "at hand") {
				return
			}
			if rest := http1test.Receive(t, ended, "the end of the request"); bytes.HasSuffix(rest, []byte("0\r\n\r\n")) ||
				len(rest) > 12 {
				t.Errorf("the endpoint took %q for a request", rest)
			}
		})
	}
}

// blocked is a body that gives what it has and then waits until it is interrupted.
type blocked struct {
	first   io.Reader
	release chan struct{}
	closed  atomic.Bool
}

func (b *blocked) Read(p []byte) (int, error) {
	if n, err := b.first.Read(p); err == nil {
		return n, nil
	}
	<-b.release
	return 0, errors.New("interrupted")
}

func (b *blocked) Close() error {
	b.closed.Store(true)
	return nil
}

// TestEarlyResponses answers before the body has come. The exchange ends without it, nothing of it goes on, and the
// connection is not used again (CVE-2024-24791 and RFC 9112 section 9.3).
func TestEarlyResponses(t *testing.T) {
	for _, response := range []string{
		"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
	} {
		t.Run(response[9:12]+"-"+strconv.Itoa(len(response)), func(t *testing.T) {
			endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, _ int) {
				conn.Head()
				conn.Say(response)
				_, _ = io.Copy(io.Discard, conn.R)
			})
			upstream := testUpstream(t, endpoint.Address(), nil)
			body := &blocked{first: strings.NewReader("begin"), release: make(chan struct{})}
			r := testRequest(t, "POST", endpoint.Address(), body)
			r.ContentLength = 1000
			interrupted := 0
			call := client.RoundTrip{Options: client.Options{Interrupt: func() bool {
				interrupted++
				close(body.release)
				return true
			}}}
			if got := take(upstream.Do(&call, r)); got.Failed {
				t.Fatal("it failed")
			}
			// The exchange has ended: so has the upload.
			if !body.closed.Load() || interrupted != 1 {
				t.Errorf("body closed: %v, interrupted %d times", body.closed.Load(), interrupted)
			}
			if n := upstream.Idle(); n != 0 {
				t.Errorf("%d connections kept, with half a request on them", n)
			}
		})
	}
}

// TestResponsesStreamAgainstUploads sends pieces in turn in both directions: neither waits for the other's end.
func TestResponsesStreamAgainstUploads(t *testing.T) {
	endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, _ int) {
		conn.Head()
		conn.Say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
		for {
			var piece [8]byte // "3\r\nabc\r\n"
			if _, err := io.ReadFull(conn.R, piece[:5]); err != nil || string(piece[:5]) == "0\r\n\r\n" {
				conn.Say("0\r\n\r\n")
				return
			}
			_, _ = io.ReadFull(conn.R, piece[5:])
			conn.Say(string(piece[:]))
		}
	})
	upstream := testUpstream(t, endpoint.Address(), nil)
	source, body := io.Pipe()
	r := testRequest(t, "POST", endpoint.Address(), source)
	response, err := upstream.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer http1test.Discard(response.Body)
	for range 3 {
		if _, err := body.Write([]byte("abc")); err != nil {
			t.Fatal(err)
		}
		var piece [3]byte
		if _, err := io.ReadFull(response.Body, piece[:]); err != nil || string(piece[:]) != "abc" {
			t.Fatalf("%q, %v", piece, err)
		}
	}
	_ = body.Close()
	if rest, err := io.ReadAll(response.Body); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
}

// TestResponseBeforeReading has an endpoint that writes a large response before it reads a byte of a large request: a
// client that sent first and read then would wait for ever.
func TestResponseBeforeReading(t *testing.T) {
	const size = 8 << 20
	for _, kind := range []string{"at hand", "at hand, in one piece", "streamed"} {
		t.Run(kind, func(t *testing.T) {
			endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, _ int) {
				_ = conn.Conn.(*net.TCPConn).SetReadBuffer(4096)
				conn.Say("HTTP/1.1 200 OK\r\nContent-Length: " + strconv.Itoa(size) + "\r\n\r\n")
				conn.Say(strings.Repeat("x", size))
				conn.Body(conn.Head())
			})
			upstream := testUpstream(t, endpoint.Address(), dialled(func(conn net.Conn) error {
				return conn.(*net.TCPConn).SetWriteBuffer(4096)
			}))
			n := size
			if kind == "at hand, in one piece" {
				n = client.CopyBytes - 1024
			}
			r := testRequest(t, "POST", endpoint.Address(), bytes.NewReader(make([]byte, n)))
			if kind == "streamed" {
				r.Body, r.GetBody = streamed(r.Body), nil
			}
			got := take(upstream.RoundTrip(r))
			if got.Failed || len(got.Body) != size {
				t.Errorf("failed: %v after %d bytes", got.Failed, len(got.Body))
			}
		})
	}
}

// TestExpectContinue waits for 100 before it sends the body.
func TestExpectContinue(t *testing.T) {
	const final = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
	tests := []struct {
		name string
		// play gets the head and responds; it returns what it has read of the body. A connection is kept only if the write
		// of the body has returned when the response ends, so that it calls sent before.
		play func(conn *http1test.Conn, head string, sent func()) string
		want string
		kept bool
		wait time.Duration
	}{
		{"100", func(conn *http1test.Conn, head string, sent func()) string {
			conn.Say("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n")
			body := conn.Body(head)
			sent()
			conn.Say(final)
			return body
		}, "hello", true, time.Hour},
		{"nothing", func(conn *http1test.Conn, head string, sent func()) string {
			body := conn.Body(head)
			sent()
			conn.Say(final)
			return body
		}, "hello", true, time.Millisecond},
		{"417", func(conn *http1test.Conn, _ string, _ func()) string {
			conn.Say("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n")
			rest, _ := io.ReadAll(conn.R)
			return string(rest)
		}, "", false, time.Hour},
		{"a final response that keeps the connection", func(conn *http1test.Conn, _ string, _ func()) string {
			conn.Say(final)
			rest, _ := io.ReadAll(conn.R)
			return string(rest)
		}, "", false, time.Hour},
		{"no wait", func(conn *http1test.Conn, head string, sent func()) string {
			body := conn.Body(head)
			sent()
			conn.Say(final)
			return body
		}, "hello", true, 0},
	}
	for _, test := range tests {
		for _, memory := range []bool{true, false} {
			t.Run(test.name+"-"+strconv.FormatBool(memory), func(t *testing.T) {
				got := make(chan string, 1)
				body := &closeCounter{Reader: strings.NewReader("hello")}
				endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, _ int) {
					head := conn.Head()
					if !strings.Contains(head, "Expect: 100-continue\r\n") {
						head = ""
					}
					got <- test.play(conn, head, func() { body.await(t) })
					conn.Head()
				})
				upstream := testUpstream(t, endpoint.Address(), func(config *client.Config) { config.ContinueTimeout = test.wait })
				r := testRequest(t, "POST", endpoint.Address(), body)
				r.ContentLength = 5
				if memory {
					r.GetBody = func() (io.ReadCloser, error) { return nil, errors.New("not called") }
				}
				r.Header.Set("Expect", "100-continue")
				answer := take(upstream.RoundTrip(r))
				if answer.Failed {
					t.Fatal("it failed")
				}
				if kept := upstream.Idle() == 1; kept != test.kept {
					t.Errorf("connection kept: %v", kept)
				}
				upstream.CloseIdleConnections()
				if sent := http1test.Receive(t, got, "the body"); sent != test.want {
					t.Errorf("the endpoint got %q", sent)
				}
				if body.closed.Load() != 1 {
					t.Errorf("closed %d times", body.closed.Load())
				}
			})
		}
	}
}
