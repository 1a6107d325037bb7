package http1

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/http1/wire"
)

// piped hides the descriptor of a connection, so that the server reads ahead.
type piped struct{ net.Conn }

func (p piped) CloseWrite() error { return p.Conn.(*net.TCPConn).CloseWrite() }

// kinds of connections on which cancellation works by different means.
func kinds() map[string]func(net.Conn) net.Conn {
	return map[string]func(net.Conn) net.Conn{"descriptor": nil, "read ahead": func(conn net.Conn) net.Conn { return piped{conn} }}
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
				g := newRig(t, &Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
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
				conn := g.dial()
				say(t, conn, sent)
				receive(t, begun, "the handler")
				left := time.Now()
				_ = conn.Close()
				for range 2 {
					if took := receive(t, ended, "the end of the context").Sub(left); took > 100*time.Millisecond {
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
			g := newRig(t, &Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				select {
				case <-r.Context().Done():
				case <-release:
				}
				echo(w, r)
			})}, wrap)
			conn, reader := g.open(get)
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
	g := newRig(t, &Server{
		Handler:     http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { contexts <- r.Context() }),
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context { return context.WithValue(ctx, key{}, conn) },
	}, nil)
	_, reader := g.open(get)
	answer(t, reader)
	ctx := receive(t, contexts, "the context")
	receive(t, ctx.Done(), "its end")
	if ctx.Value(key{}) == nil {
		t.Error("no value of the connection's context")
	}
	called := make(chan struct{})
	context.AfterFunc(ctx, func() { close(called) })
	receive(t, called, "a call after the end")
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
	_, reader := g.open(get)
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
		conn, reader := g.open("POST " + path + " HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 4\r\n\r\n")
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
	if got := g.raw("POST / HTTP/1.1\r\nHost: a\r\nExpect: tea\r\nContent-Length: 0\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 417") {
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
	_, reader := g.open(post("Transfer-Encoding: chunked", "Trailer: X-Sum") + "1\r\nx\r\n0\r\nX-Sum: 1\r\nX-Other: 2\r\nContent-Length: 3\r\n\r\n")
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
			g := newRig(t, &Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
			conn, reader := g.open(get + "early\n")
			if err := receive(t, left, "the handler"); !errors.Is(err, http.ErrHijacked) {
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
