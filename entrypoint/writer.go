package entrypoint

import (
	"io"
	"net/http"
	"time"
)

// copyBytes is how much ReadFrom copies at a time.
const copyBytes = 32 << 10

// Header returns the header of the response. After the end of the exchange it is a new map that nobody reads.
func (x *Exchange) Header() http.Header {
	if !x.alive() {
		return http.Header{}
	}
	if x.header == nil {
		x.header = make(http.Header, 8)
	}
	return x.header
}

// WriteHeader sends the header. The first status of 200 or more, or 101, is the response's; others before it are
// informational (RFC 9110, section 15.2), and calls after it do nothing, as do impossible ones.
func (x *Exchange) WriteHeader(status int) {
	if status < 100 || status > 999 || !x.enter(oneWrite) {
		return
	}
	defer x.leave(oneWrite)
	x.sendHeader(status)
}

// Write sends a part of the body.
func (x *Exchange) Write(p []byte) (int, error) {
	if !x.enter(oneWrite) {
		return 0, ErrFinished
	}
	defer x.leave(oneWrite)
	x.sendHeader(http.StatusOK)
	n, err := x.inner.Write(p)
	x.sentBytes(n)
	return n, err
}

// WriteString sends a part of the body.
func (x *Exchange) WriteString(s string) (int, error) {
	if !x.enter(oneWrite) {
		return 0, ErrFinished
	}
	defer x.leave(oneWrite)
	x.sendHeader(http.StatusOK)
	n, err := io.WriteString(x.inner, s)
	x.sentBytes(n)
	return n, err
}

func (x *Exchange) sentBytes(n int) {
	if x.received.Method != http.MethodHead {
		x.record.BytesSent += int64(n)
	}
}

// ReadFrom sends what source has to say. It never waits for source in the server's own code, so that a source that is silent
// does not keep the exchange from ending.
func (x *Exchange) ReadFrom(source io.Reader) (int64, error) {
	pool := &x.entrypoint.chain.buffers
	buffer, ok := pool.Get().(*[copyBytes]byte)
	if !ok {
		buffer = new([copyBytes]byte)
	}
	defer pool.Put(buffer)
	// Without ReadFrom of its own, so that io.CopyBuffer uses the buffer.
	return io.CopyBuffer(struct{ io.Writer }{x}, struct{ io.Reader }{source}, buffer[:])
}

// Flush sends what has been written so far.
func (x *Exchange) Flush() { _ = x.FlushError() }

// FlushError sends what has been written so far.
func (x *Exchange) FlushError() error {
	if !x.enter(oneWrite) {
		return ErrFinished
	}
	defer x.leave(oneWrite)
	x.sendHeader(http.StatusOK)
	x.flushed = true
	return http.NewResponseController(x.inner).Flush()
}

// EnableFullDuplex allows to read the body after the response has begun. It always is allowed here.
func (x *Exchange) EnableFullDuplex() error {
	if !x.alive() {
		return ErrFinished
	}
	return nil
}

// SetReadDeadline sets until when the body is waited for, in place of respondingTimeouts.readTimeout.
func (x *Exchange) SetReadDeadline(deadline time.Time) error {
	if !x.enter(oneRead) {
		return ErrFinished
	}
	defer x.leave(oneRead)
	x.body.relax()
	return http.NewResponseController(x.inner).SetReadDeadline(deadline)
}

// SetWriteDeadline sets until when the response may be written, in place of respondingTimeouts.writeTimeout.
func (x *Exchange) SetWriteDeadline(deadline time.Time) error {
	if !x.enter(oneWrite) {
		return ErrFinished
	}
	defer x.leave(oneWrite)
	return http.NewResponseController(x.inner).SetWriteDeadline(deadline)
}
