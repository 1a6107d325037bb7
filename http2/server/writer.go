package server

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	http1wire "github.com/sluiceproxy/sluice/http1/wire"
	"github.com/sluiceproxy/sluice/http2/wire"
	"github.com/sluiceproxy/sluice/httpio/serving"
)

// errShort is a handler that has written less than it declared.
var errShort = errors.New("http2: the handler wrote less than the declared Content-Length")

// Header returns the header of the response. After the end of the exchange it is a new map without effect.
func (x *exchange) Header() http.Header {
	if !x.guard.Open() {
		return http.Header{}
	}
	r := &x.response
	if !r.shown.Load() {
		if r.header == nil {
			r.header = make(http.Header, 8)
		}
		r.shown.Store(true)
	}
	return r.header
}

// WriteHeader sets the status. The first of 200 or more is the response's; others before it are sent at once (RFC 9110,
// section 15.2), and calls after it do nothing, as do impossible ones.
func (x *exchange) WriteHeader(status int) {
	if status < 100 || status > 999 || status == http.StatusSwitchingProtocols || !x.guard.Write() {
		return
	}
	defer x.guard.EndWrite()
	switch {
	case x.response.status.Load() != 0 || x.hijacked:
	case status < 200:
		x.inform(status)
	default:
		x.begin(status, nil)
	}
}

// WriteFields is WriteHeader for a final status, with fields beside those of Header.
func (x *exchange) WriteFields(status int, fields []http1wire.Field) {
	if status < 200 || status > 999 || !x.guard.Write() {
		return
	}
	defer x.guard.EndWrite()
	if x.response.status.Load() == 0 && !x.hijacked {
		x.begin(status, fields)
	}
}

// inform sends an informational response.
func (x *exchange) inform(status int) {
	b := wire.AppendStatus(make([]byte, 0, 512), status)
	for name, values := range x.response.fields() {
		for _, value := range values {
			if name != "Content-Length" && !x.frames(name, value) {
				b = appendField(b, name, value)
			}
		}
	}
	c := x.conn
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if x.failure == nil {
		x.sendBlock(b, false)
		c.out.start()
	}
	for x.failure == nil && c.out.size() > maxOut {
		c.out.await(x) // No window bounds them.
	}
}

// sendContinue sends 100 Continue, unless the response has begun (RFC 9110, section 15.2.1).
func (x *exchange) sendContinue() {
	c := x.conn
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if x.failure == nil && !x.sent && !x.response.begun && !x.body.ended {
		x.sendBlock(wire.AppendStatus(nil, http.StatusContinue), false)
		c.out.start()
	}
}

// Write sends a part of the body.
func (x *exchange) Write(p []byte) (int, error) {
	if !x.guard.Write() {
		return 0, serving.ErrFinished
	}
	defer x.guard.EndWrite()
	ok, err := x.admit(len(p))
	if ok {
		err = x.push(p)
	}
	if err != nil {
		return 0, err
	}
	x.response.written.Add(int64(len(p)))
	return len(p), nil
}

// WriteString sends a part of the body.
func (x *exchange) WriteString(s string) (int, error) { return x.Write([]byte(s)) }

// admit reports whether n bytes of the body are to be sent.
func (x *exchange) admit(n int) (bool, error) {
	r := &x.response
	if x.hijacked {
		return false, http.ErrHijacked
	}
	if r.status.Load() == 0 {
		x.begin(http.StatusOK, nil)
	}
	switch {
	case n == 0:
		return false, nil
	case http1wire.BodilessStatus(int(r.status.Load())):
		return false, http.ErrBodyNotAllowed
	case r.length >= 0 && r.written.Load()+int64(n) > r.length:
		return false, http.ErrContentLength
	}
	return !x.head, nil
}

// copyBytes is how much ReadFrom copies at a time.
const copyBytes = 32 << 10

// ReadFrom sends what source has to say.
func (x *exchange) ReadFrom(source io.Reader) (int64, error) {
	buf := x.conn.server.pool.Read()
	defer x.conn.server.pool.PutRead(buf)
	// The wrappers hide ReadFrom and WriteTo, so that the buffer is used.
	return io.CopyBuffer(struct{ io.Writer }{x}, struct{ io.Reader }{source}, buf[:copyBytes])
}

// Flush sends what has been written so far.
func (x *exchange) Flush() { _ = x.FlushError() }

// FlushError sends what has been written so far.
func (x *exchange) FlushError() error {
	if !x.guard.Write() {
		return serving.ErrFinished
	}
	defer x.guard.EndWrite()
	if x.hijacked {
		return http.ErrHijacked
	}
	if x.response.status.Load() == 0 {
		x.begin(http.StatusOK, nil)
	}
	return x.flush()
}

// EnableFullDuplex allows to read the body after the response has begun. It always is allowed here.
func (x *exchange) EnableFullDuplex() error {
	if !x.guard.Open() {
		return serving.ErrFinished
	}
	return nil
}

// SetReadDeadline sets until when the body is waited for, in place of the server's limits. Zero is no limit.
func (x *exchange) SetReadDeadline(deadline time.Time) error {
	if !x.guard.Read() {
		return serving.ErrFinished
	}
	defer x.guard.EndRead()
	x.conn.mutex.Lock()
	defer x.conn.mutex.Unlock()
	x.body.by, x.body.custom = deadline, true
	if deadline.IsZero() {
		x.body.custom, x.body.relaxed = false, true
	}
	x.body.readable.Broadcast()
	return nil
}

// SetWriteDeadline sets until when the response may be written, in place of the server's limit. The stream is reset
// then. Zero is no limit.
func (x *exchange) SetWriteDeadline(deadline time.Time) error {
	if !x.guard.Write() {
		return serving.ErrFinished
	}
	defer x.guard.EndWrite()
	x.conn.mutex.Lock()
	defer x.conn.mutex.Unlock()
	x.limitWrite(deadline)
	return nil
}

// limitWrite has the stream reset at a time; zero is never. The mutex is held.
func (x *exchange) limitWrite(deadline time.Time) {
	r, c, id := &x.response, x.conn, x.id
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
	if deadline.IsZero() {
		return
	}
	r.timer = time.AfterFunc(time.Until(deadline), func() {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		if c.streams[id] == x { // The exchange is not another request's.
			c.resetStream(x, wire.InternalError, os.ErrDeadlineExceeded)
			c.out.start()
		}
	})
}

// Recycle says that no part of the exchange is used after the handler has returned: the writer, the request with its
// header and its URL, or slices of their values. Strings and the request's context may be kept. Their memory serves
// another request then. A call that is under way when the handler returns and a panic take it back. The values that
// were attached to the context are dropped; their memory may serve another request too.
func (x *exchange) Recycle() {
	if x.guard.Open() && !x.hijacked {
		x.recyclable = true
		x.context.Detach()
	}
}

// Attach lets the request's context answer with state, until the handler has returned, and has state get the end of the
// response.
func (x *exchange) Attach(state *serving.RequestState) {
	if x.guard.Open() {
		x.context.Attach(state)
		x.state = *state
	}
}

// Answered reports whether the response has a status, or the stream was hijacked.
func (x *exchange) Answered() bool { return x.response.status.Load() != 0 || x.hijacked }

// CloseAfter ends the connection with its last stream.
func (x *exchange) CloseAfter() {
	if x.guard.Open() {
		x.response.last = true
	}
}

// Seen reports whether the request came with fields that concern one connection only, and with any whose name begins
// with "X".
func (x *exchange) Seen() (hopByHop, extended bool) { return x.hopByHop, x.extended }
