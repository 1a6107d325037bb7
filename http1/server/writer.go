package server

import (
	"errors"
	"io"
	"net/http"
	"syscall"
	"time"

	"github.com/sluiceproxy/sluice/http1/wire"
	"github.com/sluiceproxy/sluice/httpio/serving"
)

// Header returns the header of the response. After the end of the exchange it is a new map without effect. A goroutine
// that the handler leaves behind must not change a map that it got before: it is read when the handler returns, as with
// net/http.
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

// WriteHeader sets the status. The first of 200 or more, or 101, is the response's; others before it are sent at once
// (RFC 9110, section 15.2), and calls after it do nothing, as do impossible ones.
func (x *exchange) WriteHeader(status int) {
	if status < 100 || status > 999 || !x.guard.Write() {
		return
	}
	defer x.guard.EndWrite()
	switch {
	case x.response.status.Load() != 0 || x.hijacked.Load():
	case status < 200 && status != http.StatusSwitchingProtocols:
		x.inform(status)
	default:
		x.begin(status, nil)
	}
}

// WriteFields is WriteHeader for a final status, with fields beside those of Header.
func (x *exchange) WriteFields(status int, fields []wire.Field) {
	if status < 200 || status > 999 || !x.guard.Write() {
		return
	}
	defer x.guard.EndWrite()
	if x.response.status.Load() == 0 && !x.hijacked.Load() {
		x.begin(status, fields)
	}
}

// inform sends an informational response, for which HTTP/1.0 has no place.
func (x *exchange) inform(status int) {
	if x.minor == 0 {
		return
	}
	if status == http.StatusContinue {
		x.body.announce.mutex.Lock()
		defer x.body.announce.mutex.Unlock()
		x.body.announce.over, x.body.continued = true, true
	}
	b := wire.AppendStatusLine(make([]byte, 0, 512), 1, status)
	b = wire.AppendHeader(b, x.response.fields(), func(name string) bool {
		trailer := len(name) > len(http.TrailerPrefix) && name[:len(http.TrailerPrefix)] == http.TrailerPrefix
		return trailer || name == "Content-Length" || name == "Transfer-Encoding"
	})
	b = append(b, "\r\n"...)
	if _, err := x.conn.rwc.Write(b); err != nil {
		_ = x.broken(err)
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
func (x *exchange) WriteString(s string) (int, error) {
	if !x.guard.Write() {
		return 0, serving.ErrFinished
	}
	defer x.guard.EndWrite()
	r := &x.response
	ok, err := x.admit(len(s))
	switch {
	case !ok:
	case r.framing == undecided && !r.full(len(s)):
		r.buffer = append(r.buffer, s...)
	default:
		err = x.push([]byte(s))
	}
	if err != nil {
		return 0, err
	}
	r.written.Add(int64(len(s)))
	return len(s), nil
}

// admit reports whether n bytes of the body are to be sent.
func (x *exchange) admit(n int) (bool, error) {
	r := &x.response
	if x.hijacked.Load() {
		return false, http.ErrHijacked
	}
	if r.status.Load() == 0 {
		x.begin(http.StatusOK, nil)
	}
	switch {
	case n == 0:
		return false, nil
	case wire.BodilessStatus(int(r.status.Load())):
		return false, http.ErrBodyNotAllowed
	case r.length >= 0 && r.written.Load()+int64(n) > r.length:
		return false, http.ErrContentLength
	case r.err != nil:
		return false, r.err
	}
	return !r.head, nil
}

// ReadFrom sends what source has to say. From socket or file to socket the bytes never come up here, where the response
// has a declared length and the connection is plain.
func (x *exchange) ReadFrom(source io.Reader) (int64, error) {
	spliced := int64(0)
	if limited, ok := directSource(source); ok {
		n, done, err := x.splice(limited)
		if given, ok := source.(*io.LimitedReader); ok {
			given.N -= n
		}
		if done || err != nil {
			return n, err
		}
		spliced = n
	}
	buf := x.conn.server.pool.write()
	defer x.conn.server.pool.putWrite(buf)
	// The wrappers hide ReadFrom and WriteTo, so that the buffer is used.
	n, err := io.CopyBuffer(struct{ io.Writer }{x}, struct{ io.Reader }{source}, buf[:])
	return spliced + n, err
}

// Splices reports whether ReadFrom hands all that it reads from a socket or file to the connection at once, and keeps
// nothing back that Flush would have to send. The header must have been written.
func (x *exchange) Splices() bool {
	if !x.guard.Write() {
		return false
	}
	defer x.guard.EndWrite()
	r := &x.response
	status := int(r.status.Load())
	hasBody := status != 0 && r.length >= 0 && !r.head && !wire.BodilessStatus(status)
	return hasBody && x.conn.plain != nil && !x.hijacked.Load()
}

// directSource reports whether the operating system can move bytes from source by itself.
func directSource(source io.Reader) (io.LimitedReader, bool) {
	limited := io.LimitedReader{R: source, N: 1<<63 - 1}
	if given, ok := source.(*io.LimitedReader); ok {
		limited = *given
	}
	// Sockets and files, also as net and os hand them to ReadFrom.
	_, ok := limited.R.(syscall.Conn)
	return limited, ok
}

// splice moves the rest of a body with a declared length. It is not done when it can't be tried.
func (x *exchange) splice(source io.LimitedReader) (n int64, done bool, err error) {
	if !x.guard.Write() {
		return 0, true, serving.ErrFinished
	}
	defer x.guard.EndWrite()
	direct, ok := x.conn.rwc.(io.ReaderFrom)
	if !ok || x.conn.plain == nil || x.hijacked.Load() {
		return 0, false, nil
	}
	r := &x.response
	if r.status.Load() == 0 {
		x.begin(http.StatusOK, nil)
	}
	left := r.length - r.written.Load()
	if r.head || r.err != nil || wire.BodilessStatus(int(r.status.Load())) || r.length < 0 || left == 0 {
		return 0, false, nil
	}
	if err := x.flush(); err != nil {
		return 0, true, err
	}
	limit := min(source.N, left)
	n, err = direct.ReadFrom(&io.LimitedReader{R: source.R, N: limit})
	r.written.Add(n)
	if err != nil && !errors.Is(err, io.EOF) {
		x.closeAfter.Store(true)
		// Either side may have failed; what fails to write nothing can't be written to.
		if _, broken := x.conn.rwc.Write(nil); broken != nil {
			return n, true, x.broken(err)
		}
	}
	return n, err != nil || n < limit || limit == source.N, err
}

// Flush sends what has been written so far.
func (x *exchange) Flush() { _ = x.FlushError() }

// FlushError sends what has been written so far.
func (x *exchange) FlushError() error {
	if !x.guard.Write() {
		return serving.ErrFinished
	}
	defer x.guard.EndWrite()
	if x.hijacked.Load() {
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
	if x.hijacked.Load() {
		return http.ErrHijacked
	}
	x.body.userDeadline.Store(&deadline)
	return x.conn.rwc.SetReadDeadline(deadline)
}

// SetWriteDeadline sets until when the response may be written, in place of the server's limit. Zero is no limit.
func (x *exchange) SetWriteDeadline(deadline time.Time) error {
	if !x.guard.Write() {
		return serving.ErrFinished
	}
	defer x.guard.EndWrite()
	if x.hijacked.Load() {
		return http.ErrHijacked
	}
	x.response.userDeadline = true
	return x.conn.rwc.SetWriteDeadline(deadline)
}

// Recycle says that no part of the exchange is used after the handler has returned: the writer, the request with its
// header and its URL, or slices of their values. Strings and the request's context may be kept. Their memory serves
// another request then. A call that is under way when the handler returns, a hijacked connection and a panic take it
// back. The values that were attached to the context are dropped; their memory may serve another request too.
func (x *exchange) Recycle() {
	if x.guard.Open() {
		x.recyclable = true
		x.context.Detach()
	}
}

// Attach lets the request's context answer with state, until the handler has returned, and has state get the end of the
// response. It spares a handler a context around it.
func (x *exchange) Attach(state *serving.RequestState) {
	if x.guard.Open() {
		x.context.Attach(state)
		x.state = *state
	}
}

// Answered reports whether the response has a status, or the connection was hijacked. Goroutines that the handler has
// left behind may be writing meanwhile.
func (x *exchange) Answered() bool { return x.response.status.Load() != 0 || x.hijacked.Load() }

// CloseAfter ends the connection with this response.
func (x *exchange) CloseAfter() {
	if x.guard.Open() {
		x.closeAfter.Store(true)
	}
}

// Seen reports whether the request came with fields that concern one connection only, and with any whose name begins
// with "X".
func (x *exchange) Seen() (hopByHop, extended bool) { return x.hopByHop, x.extended }
