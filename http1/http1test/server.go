package http1test

import (
	"bufio"
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Server serves connections that others accept.
type Server interface {
	// ServeConn serves a connection until its end.
	ServeConn(ctx context.Context, conn net.Conn)
	// Close ends all connections.
	Close() error
}

// Rig is a Server on a listener, usually of the loopback interface.
type Rig struct {
	// Address is that of the listener.
	Address string

	t                testing.TB
	conns            sync.WaitGroup
	accepted, closed atomic.Int32
}

// Serve serves until the test ends. wrap, unless it is nil, may change each accepted connection.
func Serve(t testing.TB, server Server, wrap func(net.Conn) net.Conn) *Rig {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return ServeListener(t, server, listener, wrap)
}

// ServeListener is Serve with a listener of the test's own.
func ServeListener(t testing.TB, server Server, listener net.Listener, wrap func(net.Conn) net.Conn) *Rig {
	t.Helper()
	g := &Rig{t: t, Address: listener.Addr().String()}
	g.conns.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			g.accepted.Add(1)
			g.conns.Go(func() {
				defer g.closed.Add(1)
				if wrap != nil {
					conn = wrap(conn)
				}
				server.ServeConn(context.Background(), conn)
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		_ = server.Close()
		g.conns.Wait()
	})
	return g
}

// Dial opens a connection that is closed with the test.
func (g *Rig) Dial() net.Conn {
	g.t.Helper()
	conn, err := new(net.Dialer).DialContext(g.t.Context(), "tcp", g.Address)
	if err != nil {
		g.t.Fatal(err)
	}
	if err := conn.SetDeadline(time.Now().Add(Timeout)); err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// Open sends bytes on a new connection.
func (g *Rig) Open(sent string) (net.Conn, *bufio.Reader) {
	g.t.Helper()
	conn := g.Dial()
	if _, err := io.WriteString(conn, sent); err != nil {
		g.t.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

// Raw sends bytes and returns all that comes until the server closes.
func (g *Rig) Raw(sent string) string {
	g.t.Helper()
	_, reader := g.Open(sent)
	got, err := io.ReadAll(reader)
	if err != nil {
		g.t.Errorf("after %q: %v", got, err)
	}
	return string(got)
}

// UntilClosed waits until the server has closed each connection that was accepted, of which there is one at least.
func (g *Rig) UntilClosed() {
	g.t.Helper()
	Eventually(g.t, "the server closes", func() bool {
		closed := g.closed.Load()
		return closed > 0 && closed == g.accepted.Load()
	})
}
