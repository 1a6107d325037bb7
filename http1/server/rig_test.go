package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/http1/server"
)

const get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

func post(lines ...string) string {
	return "POST / HTTP/1.1\r\nHost: a\r\n" + strings.Join(lines, "\r\n") + "\r\n\r\n"
}

// rig is a Server on a loopback listener, whose recycled buffers are poisoned.
type rig struct {
	*http1test.Rig
	server *server.Server
}

// newRig serves until the test ends. wrap may change each accepted connection.
func newRig(t testing.TB, s *server.Server, wrap func(net.Conn) net.Conn) *rig {
	t.Helper()
	server.Poison(s)
	return &rig{http1test.Serve(t, s, wrap), s}
}

// serve is newRig for a handler.
func serve(t testing.TB, handler http.HandlerFunc) *rig {
	t.Helper()
	return newRig(t, &server.Server{Handler: handler}, nil)
}

// pipe serves a connection without a descriptor. over gets the time of its end.
func pipe(s *server.Server) (client net.Conn, over <-chan time.Time) {
	client, conn := net.Pipe()
	ended := make(chan time.Time, 1)
	go func() {
		s.ServeConn(context.Background(), conn)
		ended <- time.Now()
	}()
	return client, ended
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
	response, err := http.ReadResponse(reader, nil)
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

// echo answers with the request.
func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	_, _ = fmt.Fprintf(w, "%s %s %s %q %v", r.Method, r.RequestURI, r.Host, body, err)
}

// noAddr is the address of a connection in memory.
type noAddr struct{}

func (noAddr) Network() string { return "tcp" }
func (noAddr) String() string  { return "192.0.2.1:4711" }
