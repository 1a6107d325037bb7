package server

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/http1/wire"
	"github.com/sluiceproxy/sluice/httpio/serving"
)

const (
	// discardBytes and discardTime bound what is read of a body that the handler did not read, to keep the connection.
	discardBytes = 256 << 10
	discardTime  = 200 * time.Millisecond
	// directBytes is how large a buffer must be that a body is read into past the connection's own.
	directBytes = 1 << 10
)

var (
	errBodyClosed = errors.New("http1: read of a closed request body")
	errTooSlow    = fmt.Errorf("http1: the client sends its request too slowly: %w", os.ErrDeadlineExceeded)
)

// requestBody is the body of a request. It reads from the connection on demand.
type requestBody struct {
	exchange *exchange
	// left is how much of a body with a length has not been read; chunks decodes the other kind.
	left   int64
	chunks *wire.Chunked
	// err is what broke the body, for ever.
	err    error
	closed atomic.Bool
	ended  atomic.Bool
	// relaxed says that the response has begun, so that the client may be silent.
	relaxed atomic.Bool
	// userDeadline is what the handler has set; nil is nothing.
	userDeadline atomic.Pointer[time.Time]
	// expects says that the client waits for 100 Continue, started that Read has been called.
	expects  bool
	started  atomic.Bool
	rate     rateMeter
	announce continueLock
	// continued says that the handler has sent 100 Continue itself.
	continued bool
	// discarding bounds the read of what the handler has left.
	discarding time.Time
}

// Read reads from the body.
func (b *requestBody) Read(p []byte) (int, error) {
	x := b.exchange
	if !x.guard.Read() {
		return 0, serving.ErrFinished
	}
	defer x.guard.EndRead()
	switch {
	case x.hijacked.Load():
		return 0, http.ErrHijacked
	case b.closed.Load():
		return 0, errBodyClosed
	case b.ended.Load():
		return 0, io.EOF
	case b.err != nil:
		return 0, b.err
	case len(p) == 0:
		return 0, nil
	}
	if b.expects && !b.started.Load() {
		if err := b.sendContinue(); err != nil {
			return 0, b.fail(err)
		}
	}
	b.started.Store(true)
	return b.read(p)
}

// Close ends reading for the handler. What is left is read, or the connection closed, once the handler has returned.
func (b *requestBody) Close() error {
	if b.exchange.guard.Open() {
		b.closed.Store(true)
	}
	return nil
}

// sendContinue sends 100 Continue, unless the response has begun (RFC 9110, section 15.2.1).
func (b *requestBody) sendContinue() error {
	b.announce.mutex.Lock()
	defer b.announce.mutex.Unlock()
	if b.announce.over {
		return nil
	}
	_, err := io.WriteString(b.exchange.conn.rwc, "HTTP/1.1 100 Continue\r\n\r\n")
	return err
}

func (b *requestBody) read(p []byte) (n int, err error) {
	if b.chunks != nil {
		n, err = b.readChunks(p)
	} else {
		n, err = b.readFixed(p)
	}
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	return n, b.fail(err)
}

// fail breaks the body. What follows on the connection may be the rest of it, and must not be taken for a request.
func (b *requestBody) fail(err error) error {
	if b.userDeadline.Load() != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		// The handler may move its deadline and go on.
		return err
	}
	b.err = err
	b.exchange.closeAfter.Store(true)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		b.exchange.context.bodyOver()
	}
	return err
}

func (b *requestBody) readFixed(p []byte) (int, error) {
	c := b.exchange.conn
	p = p[:min(int64(len(p)), b.left)]
	n, err := 0, error(nil)
	if c.at == c.end && len(p) >= directBytes {
		n, err = b.wait(p)
	} else {
		if c.at == c.end {
			if _, err = b.wait(nil); err != nil {
				return 0, err
			}
		}
		n = copy(p, c.in[c.at:c.end])
		c.at += n
		c.release()
	}
	if b.left -= int64(n); b.left == 0 {
		b.end()
		return n, io.EOF
	}
	if n > 0 {
		return n, nil
	}
	return 0, err
}

func (b *requestBody) readChunks(p []byte) (int, error) {
	c := b.exchange.conn
	for {
		if c.at == c.end {
			if pending := b.chunks.Pending(); pending > 0 && len(p) >= directBytes {
				n, err := b.wait(p[:min(int64(len(p)), pending)])
				if n > 0 {
					b.chunks.Took(n)
					return n, nil
				}
				return 0, err
			}
			if _, err := b.wait(nil); err != nil {
				return 0, err
			}
		}
		n, took, err := b.chunks.Decode(p, c.in[c.at:c.end])
		c.at += took
		c.release()
		switch {
		case err != nil:
			return n, err
		case b.chunks.Done():
			b.takeTrailers()
			b.end()
			return n, io.EOF
		case n > 0:
			return n, nil
		}
	}
}

// takeTrailers makes trailers visible. Those that the client did not announce come too.
func (b *requestBody) takeTrailers() { maps.Copy(b.exchange.trailer, b.chunks.Trailer) }

func (b *requestBody) end() {
	b.ended.Store(true)
	b.exchange.context.bodyOver()
	b.exchange.bodyEnded()
}

// receive reads once into p, or into the buffer of the connection when p is nil.
func (b *requestBody) receive(p []byte, by time.Time) (int, error) {
	c := b.exchange.conn
	if p != nil {
		return c.readBy(p, by)
	}
	c.room()
	before := c.end
	err := c.fill(by)
	return c.end - before, err
}

// wait is receive within the limits that the client is under. The end of the connection is not that of the body.
func (b *requestBody) wait(p []byte) (int, error) {
	n, err := b.waitAny(p)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func (b *requestBody) waitAny(p []byte) (int, error) {
	server := b.exchange.conn.server
	switch {
	case !b.discarding.IsZero():
		return b.receive(p, b.discarding)
	case b.userDeadline.Load() != nil:
		return b.receiveOnce(p)
	case b.relaxed.Load() || server.ReadTimeout <= 0 && server.MinRate <= 0:
		return b.receive(p, time.Time{})
	}
	start := time.Now()
	by := after(start, server.ReadTimeout)
	if server.MinRate > 0 {
		by = earlier(by, start.Add(b.rate.allowance(server.MinRate)))
	}
	n, err := b.receive(p, by)
	if n == 0 && errors.Is(err, os.ErrDeadlineExceeded) && !b.exchange.interrupted.Load() {
		switch {
		case b.userDeadline.Load() != nil:
			return b.receiveOnce(p)
		case b.relaxed.Load():
			// The response began in between.
			return b.receive(p, time.Time{})
		}
		err = errTooSlow
	}
	if server.MinRate > 0 {
		b.rate.waited += time.Since(start)
		b.rate.bytes += int64(n)
	}
	return n, err
}

// receiveOnce is receive under the deadline of the handler.
func (b *requestBody) receiveOnce(p []byte) (int, error) {
	c := b.exchange.conn
	c.armed = time.Time{}
	if p != nil {
		return c.rwc.Read(p)
	}
	c.room()
	n, err := c.rwc.Read(c.in[c.end:])
	c.end += n
	if n > 0 {
		err = nil
	}
	return n, err
}

// relax ends the bounds on how slow the client may be, because the response has begun.
func (b *requestBody) relax() {
	if !b.ended.Load() {
		b.relaxed.Store(true)
	}
}

// isLong reports whether more is to come than discard would read.
func (b *requestBody) isLong() bool { return !b.ended.Load() && b.left > discardBytes }

// awaitsContinue reports whether the client still waits for 100 Continue, and may never send the body.
func (b *requestBody) awaitsContinue() bool { return b.expects && !b.continued && !b.started.Load() }

// discard reads what the handler has left, and reports whether the connection is fit for another request.
func (b *requestBody) discard() bool {
	if b.err != nil || b.awaitsContinue() || b.isLong() {
		return false
	}
	b.discarding = time.Now().Add(discardTime)
	buf := b.exchange.conn.server.pool.write()
	defer b.exchange.conn.server.pool.putWrite(buf)
	for total := 0; total < discardBytes && !b.ended.Load(); {
		n, err := b.read(buf[:])
		total += n
		if err != nil {
			break
		}
	}
	return b.ended.Load()
}
