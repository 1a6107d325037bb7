package server

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	http1wire "github.com/sluiceproxy/sluice/http1/wire"
	"github.com/sluiceproxy/sluice/http2/wire"
	"github.com/sluiceproxy/sluice/httpio/serving"
	"github.com/sluiceproxy/sluice/httpio/websocket"
)

// tunnelBytes is the size of the buffers that Hijack returns. What passes them is little.
const tunnelBytes = 512

// tunnel is the stream of an extended CONNECT (RFC 8441) as a connection, which ends with its handler. END_STREAM is
// the end of a direction, and RST_STREAM a reset.
type tunnel struct {
	x *exchange
	// The mutex of the connection guards these. ended says that END_STREAM has been sent, and reset that Close resets.
	opened, ended, closed, reset bool
}

// protocol checks an extended CONNECT, and makes the request of it that a client of HTTP/1.1 would have sent: handlers
// need not know how the connection of a WebSocket began.
func (x *exchange) connectProtocol() error {
	r := &x.request
	switch {
	case r.Method != http.MethodConnect:
		return x.malformed(":protocol with another method than CONNECT (RFC 8441, section 4)")
	case r.Host == "":
		return x.malformed("an extended CONNECT without :authority (RFC 8441, section 4)")
	case !http1wire.ValidToken(x.protocol):
		return x.malformed("a :protocol that is no token (RFC 8441, section 4)")
	case x.declared >= 0:
		return x.malformed("an extended CONNECT with content-length (RFC 9110, section 9.3.6)")
	case !strings.EqualFold(x.protocol, websocket.Protocol):
		x.reject(http.StatusNotImplemented, "extended CONNECT with another protocol than websocket")
		return nil
	case x.fields == nil:
		x.fields = http.Header{}
	}
	r.Method = http.MethodGet
	websocket.Offer(x.fields)
	x.trailer, x.hopByHop = nil, true
	x.tunnel = &tunnel{x: x}
	return nil
}

// Hijack hands over the stream of an extended CONNECT, to which the handler must write by WriteUpgrade first. The
// connection ends with the handler. Other streams are none: the error is [http.ErrNotSupported].
func (x *exchange) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if !x.guard.Write() {
		return nil, nil, serving.ErrFinished
	}
	defer x.guard.EndWrite()
	switch {
	case x.tunnel == nil:
		return nil, nil, http.ErrNotSupported
	case x.hijacked:
		return nil, nil, http.ErrHijacked
	case x.response.status.Load() != 0:
		return nil, nil, errors.New("http2: the response to an extended CONNECT has begun")
	}
	c := x.conn
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if x.failure != nil {
		return nil, nil, x.failure
	}
	x.recyclable, x.hijacked = false, true
	t := x.tunnel
	return t, bufio.NewReadWriter(bufio.NewReaderSize(t, tunnelBytes), bufio.NewWriterSize(t, tunnelBytes)), nil
}

// WriteUpgrade sends the response that opens the tunnel: 200 with the fields of the header, but those that concern a
// connection of HTTP/1.1.
func (t *tunnel) WriteUpgrade(header http.Header) error {
	x := t.x
	if !x.guard.Write() {
		return serving.ErrFinished
	}
	defer x.guard.EndWrite()
	r, c := &x.response, x.conn
	b := wire.AppendStatus(make([]byte, 0, tunnelBytes), http.StatusOK)
	for name, values := range header {
		for _, value := range values {
			if name != "Content-Length" && name != "Trailer" && !x.frames(name, value) {
				b = appendField(b, name, value)
			}
		}
	}
	if !r.dated {
		b = c.server.date.append(b, time.Now())
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if x.failure != nil {
		return t.broken(x.failure)
	}
	t.opened = true
	r.status.Store(http.StatusOK)
	r.begun, r.committed = true, true
	x.sendBlock(b, false)
	c.out.start()
	return nil
}

// broken returns an error of the stream so that a reset by the client is one, as of a connection.
func (t *tunnel) broken(err error) error {
	if _, ok := errors.AsType[*resetError](err); ok || errors.Is(err, errGone) {
		return fmt.Errorf("%w (%w)", err, syscall.ECONNRESET)
	}
	return err
}

// Read reads what the client sends.
func (t *tunnel) Read(p []byte) (int, error) {
	n, err := t.x.body.Read(p)
	switch {
	case err == nil:
		return n, nil
	case errors.Is(err, errBodyClosed):
		return n, net.ErrClosed
	}
	return n, t.broken(err)
}

// Write sends to the client, as its windows allow.
func (t *tunnel) Write(p []byte) (int, error) {
	x := t.x
	if !x.guard.Write() {
		return 0, serving.ErrFinished
	}
	defer x.guard.EndWrite()
	c := x.conn
	c.mutex.Lock()
	defer c.mutex.Unlock()
	switch {
	case x.failure != nil:
		return 0, t.broken(x.failure)
	case t.ended || !t.opened:
		return 0, net.ErrClosed
	}
	before := x.response.delivered
	err := x.sendBody(p, false)
	c.out.start()
	if err != nil {
		return int(x.response.delivered - before), t.broken(err)
	}
	return len(p), nil
}

// end sends END_STREAM. The mutex is held, and nothing waits to be sent.
func (t *tunnel) end() {
	if t.ended {
		return
	}
	t.ended = true
	c := t.x.conn
	c.out.set(wire.AppendHeader(c.out.room(), 0, wire.Data, wire.EndStream, t.x.id))
	c.out.start()
}

// CloseWrite ends the direction to the client, which may go on sending.
func (t *tunnel) CloseWrite() error {
	x := t.x
	if !x.guard.Write() {
		return serving.ErrFinished
	}
	defer x.guard.EndWrite()
	x.conn.mutex.Lock()
	defer x.conn.mutex.Unlock()
	switch {
	case x.failure != nil:
		return t.broken(x.failure)
	case !t.opened || len(x.unsent) > 0:
		return net.ErrClosed
	}
	t.end()
	return nil
}

// SetLinger makes Close reset the stream if seconds is 0.
func (t *tunnel) SetLinger(seconds int) error {
	t.x.conn.mutex.Lock()
	defer t.x.conn.mutex.Unlock()
	t.reset = seconds == 0
	return nil
}

// Close ends the stream: with END_STREAM, unless bytes wait to be sent, and calls that wait return. What the client
// sends then is dropped.
func (t *tunnel) Close() error {
	x := t.x
	if !x.guard.Write() {
		return net.ErrClosed // It has ended with the handler.
	}
	defer x.guard.EndWrite()
	c := x.conn
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if t.closed {
		return net.ErrClosed
	}
	t.closed = true
	if x.failure == nil && (t.reset || !t.opened || len(x.unsent) > 0) {
		c.resetStream(x, wire.Cancel, net.ErrClosed)
		c.out.start()
	}
	if x.failure == nil {
		t.end()
	}
	x.body.drop()
	x.body.readable.Broadcast()
	c.out.start()
	return nil
}

// LocalAddr returns the address of the connection of the stream.
func (t *tunnel) LocalAddr() net.Addr { return t.x.conn.rwc.LocalAddr() }

// RemoteAddr returns the address of the client.
func (t *tunnel) RemoteAddr() net.Addr { return t.x.conn.rwc.RemoteAddr() }

// SetDeadline sets both deadlines.
func (t *tunnel) SetDeadline(deadline time.Time) error {
	if err := t.SetReadDeadline(deadline); err != nil {
		return err
	}
	return t.SetWriteDeadline(deadline)
}

// SetReadDeadline sets until when Read waits.
func (t *tunnel) SetReadDeadline(deadline time.Time) error { return t.x.SetReadDeadline(deadline) }

// SetWriteDeadline sets when the stream is reset. Zero is never.
func (t *tunnel) SetWriteDeadline(deadline time.Time) error { return t.x.SetWriteDeadline(deadline) }

// endTunnel ends the stream when the handler has returned. The mutex is held.
func (c *serverConn) endTunnel(x *exchange) error {
	t := x.tunnel
	if x.failure != nil {
		c.out.flush()
		return x.failure
	}
	if !t.opened {
		c.resetStream(x, wire.InternalError, errAborted)
		c.out.flush()
		return errAborted
	}
	t.end()
	x.sent = true
	c.life.answered++
	if !x.body.ended {
		c.sendReset(x.id, wire.NoError) // What the client still sends is of no use (section 8.1).
	}
	if x.response.last {
		c.retireLocked()
	}
	c.forget(x)
	c.out.ending = append(c.out.ending, x)
	c.out.flushLater()
	return nil
}
