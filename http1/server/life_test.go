package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/http1/server"
)

// piped hides the descriptor of a connection, so that the server reads ahead.
type piped struct{ net.Conn }

func (p piped) CloseWrite() error { return p.Conn.(*net.TCPConn).CloseWrite() }

// kinds of connections on which cancellation works by different means.
func kinds() map[string]func(net.Conn) net.Conn {
	return map[string]func(net.Conn) net.Conn{"descriptor": nil, "read ahead": func(conn net.Conn) net.Conn {
		return piped{conn}
	}}
}

func TestServerClientLeaves(t *testing.T) {
	t.Parallel()
	for kind, wrap := range kinds() {
		for name, sent := range map[string]string{
			"no body": get, "body": post("Content-Length: 4") + "body", "pipelined": get + "GET /next HTTP/1.1\r\n",
			"unread body": post("Content-Length: 4") + "bo",
		} {
			if kind == "read ahead" && name != "no body" && name != "body" {
				continue // net/http's way can't look behind bytes either
			}
			t.Run(kind+" "+name, func(t *testing.T) {
				t.Parallel()
				begun, ended := make(chan struct{}), make(chan time.Time, 3)
				g := newRig(t, &server.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					context.AfterFunc(r.Context(), func() { ended <- time.Now() })
					child, cancel := context.WithTimeout(r.Context(), time.Hour)
					defer cancel()
					if name == "body" {
						_, _ = io.ReadAll(r.Body)
					}
					close(begun)
					<-child.Done()
					ended <- time.Now()
					if !errors.Is(r.Context().Err(), context.Canceled) || !errors.Is(child.Err(), context.Canceled) {
						t.Errorf("%v, %v", r.Context().Err(), child.Err())
					}
				})}, wrap)
				conn := g.Dial()
				say(t, conn, sent)
				http1test.Receive(t, begun, "the handler")
				left := time.Now()
				if name == "unread body" {
					// The end alone would be an error of reading the body.
					_ = conn.(*net.TCPConn).SetLinger(0)
				}
				_ = conn.Close()
				for range 2 {
					if took := http1test.Receive(t, ended, "the end of the context").Sub(left); took > 10*time.Second {
						t.Errorf("the context ended after %v", took)
					}
				}
			})
		}
	}
}

// TestServerReadAheadKeepsBytes pipelines a request behind one whose context is watched.
func TestServerReadAheadKeepsBytes(t *testing.T) {
	t.Parallel()
	for kind, wrap := range kinds() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{}, 1)
			g := newRig(t, &server.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				select {
				case <-r.Context().Done():
				case <-release:
				}
				echo(w, r)
			})}, wrap)
			conn, reader := g.Open(get)
			for i := range 20 {
				say(t, conn, fmt.Sprintf("GET /%d HTTP/1.1\r\nHost: a\r\n\r\n", i))
				release <- struct{}{}
				want := "GET / a"
				if i > 0 {
					want = fmt.Sprintf("GET /%d a", i-1)
				}
				if _, body := answer(t, reader); !strings.HasPrefix(body, want) {
					t.Fatalf("got %q", body)
				}
			}
			release <- struct{}{}
		})
	}
}

func TestServerContextEndsWithHandler(t *testing.T) {
	t.Parallel()
	type key struct{}
	contexts := make(chan context.Context, 1)
	g := newRig(t, &server.Server{
		Handler:     http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { contexts <- r.Context() }),
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context { return context.WithValue(ctx, key{}, conn) },
	}, nil)
	_, reader := g.Open(get)
	answer(t, reader)
	ctx := http1test.Receive(t, contexts, "the context")
	http1test.Receive(t, ctx.Done(), "its end")
	if ctx.Value(key{}) == nil {
		t.Error("no value of the connection's context")
	}
	called := make(chan struct{})
	context.AfterFunc(ctx, func() { close(called) })
	http1test.Receive(t, called, "a call after the end")
}

func TestServerAfterFuncStops(t *testing.T) {
	t.Parallel()
	g := serve(t, func(w http.ResponseWriter, r *http.Request) {
		fail := func() { t.Error("a stopped call was made") }
		var stops []func() bool
		for range 4 {
			stops = append(stops, context.AfterFunc(r.Context(), fail))
		}
		for _, i := range []int{2, 0, 3, 1} {
			if !stops[i]() || stops[i]() {
				t.Errorf("stop %d", i)
			}
		}
		hello(w, r)
	})
	_, reader := g.Open(get)
	answer(t, reader)
}

func TestServerExpectContinue(t *testing.T) {
	t.Parallel()
	g := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/refuse":
			w.WriteHeader(http.StatusForbidden)
		case "/late":
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			body, err := io.ReadAll(r.Body)
			_, _ = fmt.Fprintf(w, "%s %v", body, err)
		case "/self":
			w.WriteHeader(http.StatusContinue)
			echo(w, r)
		default:
			echo(w, r)
		}
	})
	for path, continues := range map[string]bool{"/": true, "/self": true, "/refuse": false, "/late": false} {
		conn, reader := g.Open("POST " + path + " HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 4\r\n\r\n")
		if continues {
			line, err := reader.ReadString('\n')
			if err != nil || line != "HTTP/1.1 100 Continue\r\n" {
				t.Errorf("%s: got %q, %v", path, line, err)
			}
			_, _ = reader.ReadString('\n')
		}
		if path != "/refuse" {
			say(t, conn, "body")
		}
		response, body := answer(t, reader)
		switch path {
		case "/refuse":
			if response.StatusCode != 403 || !response.Close {
				t.Errorf("%s: %+v", path, response)
			}
		case "/late":
			if body != "body <nil>" {
				t.Errorf("%s: %q", path, body)
			}
		default:
			if body != `POST `+path+` a "body" <nil>` || response.Close {
				t.Errorf("%s: %q", path, body)
			}
		}
	}
	if got := g.Raw("POST / HTTP/1.1\r\nHost: a\r\nExpect: tea\r\nContent-Length: 0\r\n\r\n"); !strings.HasPrefix(got,
		"HTTP/1.1 417") {
		t.Errorf("got %q", got)
	}
}

func TestServerRequestTrailers(t *testing.T) {
	t.Parallel()
	seen := make(chan http.Header, 2)
	g := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		seen <- r.Trailer.Clone()
		_, _ = io.ReadAll(r.Body)
		seen <- r.Trailer
	})
	_, reader := g.Open(post("Transfer-Encoding: chunked", "Trailer: X-Sum") +
		"1\r\nx\r\n0\r\nX-Sum: 1\r\nX-Other: 2\r\nContent-Length: 3\r\n\r\n")
	answer(t, reader)
	if got := fmt.Sprint(<-seen, <-seen); got != "map[X-Sum:[]] map[X-Other:[2] X-Sum:[1]]" {
		t.Errorf("got %s", got)
	}
}

func TestServerHijack(t *testing.T) {
	t.Parallel()
	for kind, wrap := range kinds() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			left := make(chan error, 1)
			g := newRig(t, &server.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_ = r.Context().Done()
				conn, buffers, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				_, err = w.Write([]byte("x"))
				left <- err
				go func() {
					defer conn.Close() //nolint:errcheck // a test's
					_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\n\r\n")
					line, err := buffers.ReadString('\n')
					if err != nil {
						t.Error(err)
					}
					_, _ = io.WriteString(conn, strings.ToUpper(line))
					line, _ = buffers.ReadString('\n')
					_, _ = io.WriteString(conn, strings.ToUpper(line))
				}()
			})}, wrap)
			conn, reader := g.Open(get + "early\n")
			if err := http1test.Receive(t, left, "the handler"); !errors.Is(err, http.ErrHijacked) {
				t.Errorf("Write: %v", err)
			}
			// Half of the connection may end without an end of the other.
			say(t, conn, "later\n")
			_ = conn.(*net.TCPConn).CloseWrite()
			rest, err := io.ReadAll(reader)
			if err != nil || !strings.HasSuffix(string(rest), "\r\n\r\nEARLY\nLATER\n") {
				t.Errorf("got %q, %v", rest, err)
			}
		})
	}
}

func TestServerUnreadBodies(t *testing.T) {
	t.Parallel()
	http1test.UnreadBodies(t, func(t *testing.T, handler http.Handler) net.Conn {
		return serve(t, handler.ServeHTTP).Dial()
	})
}

func TestServerPanics(t *testing.T) {
	t.Parallel()
	reports := make(chan string, 10)
	g := newRig(t, &server.Server{
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
		_, reader := g.Open("GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n")
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
	conn, _ := g.Open("GET /late HTTP/1.0\r\n\r\n")
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
		{"idle without its own limit", get, 5 * time.Second, 0}, // The request has to come in it.
	} {
		for kind, wrap := range kinds() {
			t.Run(test.name+" "+kind, func(t *testing.T) {
				t.Parallel()
				g := newRig(t, &server.Server{
					Handler: http.HandlerFunc(hello), ReadTimeout: test.read, IdleTimeout: test.idle,
				}, wrap)
				got := g.Raw(test.sent)
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
	// The head has to come in the time, also on a busy machine.
	const limit = 2 * time.Second
	g := newRig(t, &server.Server{ReadTimeout: limit, Handler: http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request,
	) {
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
	_, reader := g.Open(post("Content-Length: 4") + "b")
	if _, body := answer(t, reader); !strings.HasPrefix(body, "b http1: the client sends") {
		t.Errorf("got %q", body)
	}
	if err := http1test.Receive(t, failed, "the end of the body"); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%v", err)
	}
	// Once the response has begun, or the handler has set a deadline, the client may be silent for longer.
	for _, path := range []string{"/stream", "/own"} {
		conn, reader := g.Open("POST " + path + " HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nx")
		pause := time.NewTimer(limit * 3 / 2)
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

func TestServerWriteTimeout(t *testing.T) {
	t.Parallel()
	failed := make(chan error, 1)
	handler := func(w http.ResponseWriter, _ *http.Request) {
		chunk := make([]byte, 1<<20)
		for {
			if _, err := w.Write(chunk); err != nil {
				failed <- err
				return
			}
		}
	}
	g := newRig(t, &server.Server{WriteTimeout: 50 * time.Millisecond, Handler: http.HandlerFunc(handler)}, nil)
	g.Open(get)
	if err := http1test.Receive(t, failed, "the end of writing"); !errors.Is(err, os.ErrDeadlineExceeded) {
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
	_, idle := g.Open(get)
	answer(t, idle)
	fresh := g.Dial()
	_, busy := g.Open("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n" + get)
	http1test.Receive(t, begun, "the slow request")
	http1test.Eventually(t, "the others are idle", func() bool { return server.Idle(g.server) == 2 })
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
	if err := http1test.Receive(t, over, "the end"); err != nil {
		t.Error(err)
	}
}
