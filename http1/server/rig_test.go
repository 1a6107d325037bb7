package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/http1/internal/http1test"
)

const get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

// rig is a Server on a loopback listener, whose recycled buffers are poisoned.
type rig struct {
	t       testing.TB
	server  *Server
	address string
	conns   sync.WaitGroup
}

// newRig serves until the test ends. wrap may change each accepted connection.
func newRig(t testing.TB, server *Server, wrap func(net.Conn) net.Conn) *rig {
	t.Helper()
	server.pool.poison = true
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &rig{t: t, server: server, address: listener.Addr().String()}
	g.conns.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			if wrap != nil {
				conn = wrap(conn)
			}
			g.conns.Go(func() { server.ServeConn(context.Background(), conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		_ = server.Close()
		g.conns.Wait()
	})
	return g
}

// serve is newRig for a handler.
func serve(t testing.TB, handler http.HandlerFunc) *rig {
	t.Helper()
	return newRig(t, &Server{Handler: handler}, nil)
}

// dial opens a connection that is closed with the test.
func (g *rig) dial() net.Conn {
	g.t.Helper()
	conn, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", g.address)
	if err != nil {
		g.t.Fatal(err)
	}
	if err := conn.SetDeadline(time.Now().Add(http1test.Timeout)); err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// open sends bytes on a new connection.
func (g *rig) open(sent string) (net.Conn, *bufio.Reader) {
	g.t.Helper()
	conn := g.dial()
	say(g.t, conn, sent)
	return conn, bufio.NewReader(conn)
}

// raw sends bytes and returns all that comes until the server closes.
func (g *rig) raw(sent string) string {
	g.t.Helper()
	_, reader := g.open(sent)
	got, err := io.ReadAll(reader)
	if err != nil {
		g.t.Errorf("after %q: %v", got, err)
	}
	return string(got)
}

func say(t testing.TB, conn net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
}

// answer reads a response with its body.
func answer(t testing.TB, reader *bufio.Reader) (*http.Response, string) {
	t.Helper()
	return answerTo(t, reader, http.MethodGet)
}

func answerTo(t testing.TB, reader *bufio.Reader, method string) (*http.Response, string) {
	t.Helper()
	response, err := http.ReadResponse(reader, &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(body)
}

func hello(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }

// echo answers with what it was asked.
func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	_, _ = fmt.Fprintf(w, "%s %s %s %q %v", r.Method, r.RequestURI, r.Host, body, err)
}

func post(lines ...string) string {
	return "POST / HTTP/1.1\r\nHost: a\r\n" + strings.Join(lines, "\r\n") + "\r\n\r\n"
}
