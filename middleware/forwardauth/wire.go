package forwardauth

import (
	"context"
	"crypto/tls"
	"net"
	"net/http/httptrace"
	"sync/atomic"
)

// What has happened on a connection since a question got it.
const (
	wireGiven = uint32(iota)
	wireAsked
	wireAnswered
)

// wire is a connection to the authentication server that tells an answer from bytes which came before the question. A server that says
// more than it announces (a body behind HEAD, a length in characters) lets a client choose what the next answer on the connection is
// otherwise: the transport takes it when the next question is quick.
type wire struct {
	net.Conn
	state atomic.Uint32
}

// Write notes that the question is on its way.
func (w *wire) Write(p []byte) (int, error) {
	w.state.CompareAndSwap(wireGiven, wireAsked)
	return w.Conn.Write(p)
}

// Read notes that something came behind the question.
func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if n > 0 {
		w.state.CompareAndSwap(wireAsked, wireAnswered)
	}
	return n, err
}

// wired makes the connections of a dialer wires.
func wired(dialer *net.Dialer) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &wire{Conn: c}, nil
	}
}

// watch looks after one question.
type watch struct {
	trace httptrace.ClientTrace
	// wire is nil where the answer carries the number of its question, as with HTTP/2.
	wire    atomic.Pointer[wire]
	unasked atomic.Bool
}

// watched returns a context that has a question looked after.
func watched(ctx context.Context) (context.Context, *watch) {
	w := new(watch)
	w.trace.GotConn, w.trace.GotFirstResponseByte = w.begin, w.first
	return httptrace.WithClientTrace(ctx, &w.trace), w
}

// begin is called with the connection that the question gets.
func (w *watch) begin(got httptrace.GotConnInfo) {
	w.unasked.Store(false)
	w.wire.Store(nil)
	if secured, ok := got.Conn.(*tls.Conn); ok && secured.ConnectionState().NegotiatedProtocol == "h2" {
		return
	}
	if below := wireOf(got.Conn); below != nil {
		below.state.Store(wireGiven)
		w.wire.Store(below)
	}
}

// first is called when the transport looks at the first byte of an answer, before it looks for more.
func (w *watch) first() {
	if used := w.wire.Load(); used != nil && used.state.Load() != wireAnswered {
		w.unasked.Store(true)
		_ = used.Close() // What else comes on it answers nobody's question either.
	}
}

// wireOf returns the wire below TLS.
func wireOf(c net.Conn) *wire {
	for {
		switch below := c.(type) {
		case *wire:
			return below
		case interface{ NetConn() net.Conn }:
			c = below.NetConn()
		default:
			return nil
		}
	}
}
