package stream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/forward/relay"
	"github.com/sluiceproxy/sluice/forward/servertls"
	"github.com/sluiceproxy/sluice/httpio"
)

// connections are the connections to one upstream, each of which belongs to one client.
type connections struct {
	transport *Transport
	connect   dialFunc
	address   string
	tls       *tls.Config // nil without TLS

	mutex sync.Mutex
	// open holds the TCP connections that clients use, and what they are joined in; nil when there are none.
	open   map[*net.TCPConn]*relay.Joined
	closed bool
}

var (
	errClosed = errors.New("the endpoint has left the service")
	// errCut is why connections end that are open when drainTimeout is over.
	errCut = errors.New("the endpoint has left the service, and drainTimeout is over")
)

// handshakeError is an endpoint that was connected to, and with which what comes first did not succeed.
type handshakeError struct {
	step string
	err  error
}

// Error returns the step and the cause.
func (e *handshakeError) Error() string { return e.step + ": " + e.err.Error() }

// Unwrap returns the cause.
func (e *handshakeError) Unwrap() error { return e.err }

// timeoutError is an endpoint that took longer than dialTimeout.
type timeoutError struct {
	step  string
	limit time.Duration
}

// Error says what was not done in which time.
func (e *timeoutError) Error() string { return e.step + ": not done within " + e.limit.String() }

// Timeout is true.
func (*timeoutError) Timeout() bool { return true }

// Temporary is false, as it is deprecated.
func (*timeoutError) Temporary() bool { return false }

// answerError is an endpoint that has answered the preamble in another way.
type answerError struct{ got, want []byte }

// Error returns the answer.
func (e *answerError) Error() string {
	return fmt.Sprintf("the server answered %s, not %s", strconv.QuoteToASCII(string(e.got)),
		strconv.QuoteToASCII(string(e.want)))
}

// dial connects to the endpoint and does what comes before the client's bytes: the header, which may be empty, TLS, and
// the preamble, which may be nil. All of it together may take dialTimeout.
func (c *connections) dial(ctx context.Context, header []byte, preamble *Preamble) (net.Conn, error) {
	t := c.transport
	if c.tls != nil && t.identity != nil {
		if err := servertls.Ready(t.identity); err != nil {
			return nil, err
		}
	}
	limited := httpio.WithLimit(ctx, t.timeout)
	// DialTCP would bind the socket first, which leaves one port to all servers instead of one to each.
	conn, err := c.connect(limited, "tcp", c.address)
	if err != nil {
		return nil, c.late(ctx, "connect", err)
	}
	step := "PROXY header"
	if len(header) > 0 {
		_, err = conn.Write(header) // It fits the empty buffer of the socket, so this does not wait.
	}
	if err == nil && (c.tls != nil || preamble != nil) {
		conn, step, err = c.greet(limited, conn, preamble)
	}
	if err != nil {
		_ = httpio.Reset(conn)
		return nil, c.late(ctx, step, &handshakeError{step, err})
	}
	return conn, nil
}

// greet makes the TLS handshake and exchanges the preamble, where there are any, and returns the step that it has come
// to.
func (c *connections) greet(
	ctx context.Context, conn net.Conn, preamble *Preamble,
) (ready net.Conn, step string, err error) {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	}
	if c.tls != nil {
		step = "TLS handshake"
		secure := tls.Client(conn, c.tls)
		conn, err = secure, secure.HandshakeContext(ctx)
	}
	if err == nil && preamble != nil {
		step = "STARTTLS"
		err = preamble.exchange(ctx, conn)
	}
	return conn, step, err
}

// late returns the error of a step, in place of which there may be that the time for it was over.
func (c *connections) late(ctx context.Context, step string, err error) error {
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
		return &timeoutError{step, c.transport.timeout}
	}
	return err
}

// exchange sends the request and waits for the answer.
func (p *Preamble) exchange(ctx context.Context, conn net.Conn) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := conn.Write(p.Request); err != nil {
		return err
	}
	answer := make([]byte, len(p.Answer))
	n, err := io.ReadFull(conn, answer)
	switch {
	case string(answer[:n]) != string(p.Answer[:n]) || errors.Is(err, io.ErrUnexpectedEOF):
		return &answerError{answer[:n], p.Answer}
	case err != nil:
		return err
	case !stop():
		return ctx.Err()
	}
	return nil
}

// DialCheck connects for an active check. A header names no client.
func (c *connections) DialCheck(ctx context.Context) (net.Conn, error) {
	return c.dial(ctx, c.transport.proxy.local(), nil)
}

// dialClient connects for a client. The connection is listed until it is released.
func (c *connections) dialClient(ctx context.Context, header []byte, preamble *Preamble) (net.Conn, error) {
	if c.over() {
		return nil, errClosed
	}
	conn, err := c.dial(ctx, header, preamble)
	if err != nil {
		return nil, err
	}
	tcp := bottom(conn)
	c.mutex.Lock()
	if !c.closed {
		if c.open == nil {
			c.open = make(map[*net.TCPConn]*relay.Joined)
		}
		c.open[tcp] = nil
	}
	closed := c.closed
	c.mutex.Unlock()
	if closed {
		_ = httpio.Reset(conn)
		return nil, errClosed
	}
	return conn, nil
}

// joined notes what a connection that dialClient returned is joined in.
func (c *connections) joined(conn net.Conn, joined *relay.Joined) {
	tcp := bottom(conn)
	c.mutex.Lock()
	closed := c.closed
	if _, open := c.open[tcp]; open {
		c.open[tcp] = joined
	}
	c.mutex.Unlock()
	if closed {
		joined.Shutdown()
	}
}

// release takes a connection off the list, and reports whether Close has ended it.
func (c *connections) release(conn net.Conn) (cut bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	delete(c.open, bottom(conn))
	if len(c.open) == 0 {
		c.open = nil // A map keeps the size that it once had.
	}
	return c.closed
}

func (c *connections) over() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.closed
}

// bottom returns the TCP connection that dial has made.
func bottom(conn net.Conn) *net.TCPConn {
	tcp, _ := httpio.Bottom(conn).(*net.TCPConn)
	return tcp
}

// IdleConnections returns zeros: no connection is kept without a client.
func (*connections) IdleConnections() (idle, shared int) { return 0, 0 }

// CloseIdleConnections has nothing to close.
func (*connections) CloseIdleConnections() {}

// Close closes all connections, those that are being made included, and refuses new ones.
func (c *connections) Close() {
	c.mutex.Lock()
	c.closed = true
	open := maps.Clone(c.open)
	c.mutex.Unlock()
	for tcp, joined := range open {
		if joined != nil {
			go joined.Shutdown() // A client with TLS that reads nothing is waited for.
		} else {
			_ = tcp.Close()
		}
	}
}
