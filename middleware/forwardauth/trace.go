package forwardauth

import (
	"context"
	"crypto/tls"
	"net"
	"net/http/httptrace"
	"sync/atomic"
)

// The states of a connection since an authentication request got it.
const (
	connIdle = uint32(iota)
	connWritten
	connRead
)

// tracedConn is a connection to the authentication server that tells a response from bytes which came before the
// request. A server that sends more than it announces (a body behind HEAD, a length in characters) lets a client
// choose what the next response on the connection is otherwise: the transport takes it when the next request is
// quick.
type tracedConn struct {
	net.Conn
	state atomic.Uint32
}

// Write notes that the request has been sent.
func (c *tracedConn) Write(p []byte) (int, error) {
	c.state.CompareAndSwap(connIdle, connWritten)
	return c.Conn.Write(p)
}

// Read notes that bytes came after the request.
func (c *tracedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.state.CompareAndSwap(connWritten, connRead)
	}
	return n, err
}

// traced returns a dial function whose connections are traced.
func traced(dialer *net.Dialer) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &tracedConn{Conn: c}, nil
	}
}

// requestTrace observes one authentication request.
type requestTrace struct {
	hooks httptrace.ClientTrace
	// conn is nil where responses carry the number of their request, as with HTTP/2.
	conn        atomic.Pointer[tracedConn]
	unsolicited atomic.Bool
}

// traceRequest returns a context whose request is observed.
func traceRequest(ctx context.Context) (context.Context, *requestTrace) {
	t := new(requestTrace)
	t.hooks.GotConn, t.hooks.GotFirstResponseByte = t.gotConn, t.gotFirstByte
	return httptrace.WithClientTrace(ctx, &t.hooks), t
}

// gotConn is called with the connection that the request gets.
func (t *requestTrace) gotConn(got httptrace.GotConnInfo) {
	t.unsolicited.Store(false)
	t.conn.Store(nil)
	if secured, ok := got.Conn.(*tls.Conn); ok && secured.ConnectionState().NegotiatedProtocol == "h2" {
		return
	}
	if conn := tracedConnOf(got.Conn); conn != nil {
		conn.state.Store(connIdle)
		t.conn.Store(conn)
	}
}

// gotFirstByte is called when the transport looks at the first byte of a response, before it reads more.
func (t *requestTrace) gotFirstByte() {
	if conn := t.conn.Load(); conn != nil && conn.state.Load() != connRead {
		t.unsolicited.Store(true)
		_ = conn.Close() // What else comes on it is no response either.
	}
}

// tlsConn is what lies above a connection, as tls.Conn does.
type tlsConn interface{ NetConn() net.Conn }

// tracedConnOf returns the traced connection below TLS.
func tracedConnOf(c net.Conn) *tracedConn {
	for {
		switch conn := c.(type) {
		case *tracedConn:
			return conn
		case tlsConn:
			c = conn.NetConn()
		default:
			return nil
		}
	}
}
