package server

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	http1wire "github.com/sluiceproxy/sluice/http1/wire"
	"github.com/sluiceproxy/sluice/http2/buffer"
	"github.com/sluiceproxy/sluice/http2/wire"
	"github.com/sluiceproxy/sluice/httpio/serving"
)

var (
	// errBodyClosed is what Read returns after Close.
	errBodyClosed = errors.New("http2: read of a closed request body")
	// errTooSlow is a body that comes more slowly than it may.
	errTooSlow = fmt.Errorf("http2: the client sends the body too slowly: %w", os.ErrDeadlineExceeded)
)

// rateGrace is how long a client may be slower than MinRate.
const rateGrace = 5 * time.Second

// requestBody is the body of a request. The mutex of the connection guards what is not said to be the reader's.
type requestBody struct {
	exchange *exchange
	// came is what has come and was not read.
	came buffer.Body
	// declared is what is still to come by Content-Length, or -1.
	declared int64
	// window is what the client may still send, credit what was read of that and not given back.
	window, credit int64
	// ended says that the client has sent END_STREAM, err why there will be no end.
	ended  bool
	err    error
	closed bool
	// trailers came with the end.
	trailers []http1wire.Field
	// readable is signalled when there is something to read.
	readable sync.Cond
	// relaxed says that the response has begun, after which the client may be slow.
	relaxed bool
	// by is the deadline that the handler has set, if custom is.
	by     time.Time
	custom bool
	timer  *time.Timer

	// The reader's: bytes is what has been read, waited for how long it was waited for.
	bytes  int64
	waited time.Duration
	// limited says that the client is bounded in its slowness; expects that it waits for 100 Continue.
	limited, expects bool
}

// open begins a body of a declared length, or -1.
func (b *requestBody) open(declared int64) {
	b.declared, b.window = declared, streamWindow
	h := b.exchange.fields
	// A client of gRPC may be silent for as long as it likes before the first response, unless only the end of the body
	// is awaited.
	kind := h["Content-Type"]
	b.limited = declared == 0 || len(kind) == 0 || !strings.HasPrefix(kind[0], "application/grpc")
	if values := h["Expect"]; len(values) == 1 && strings.EqualFold(values[0], "100-continue") {
		b.expects = true
	}
}

// expect counts DATA of so many bytes of the window, and of the body. The mutex is held.
func (b *requestBody) expect(length, bytes int) error {
	x := b.exchange
	if b.window -= int64(length); b.window < 0 {
		return wire.StreamFault(x.id, wire.FlowControlError, "DATA beyond the window of the stream (section 6.9)")
	}
	b.credit += int64(length - bytes)
	if b.declared >= 0 {
		if b.declared -= int64(bytes); b.declared < 0 {
			return wire.StreamFault(x.id, wire.ProtocolError, "a body longer than content-length (section 8.1.1)")
		}
	}
	return nil
}

// addData takes bytes of a stream. Those that are dropped count as read.
func (c *serverConn) addData(x *exchange, id uint32, p []byte) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.streams[id] != x {
		c.credit += int64(len(p))
		c.giveCredit()
		return
	}
	b := &x.body
	if b.closed || b.err != nil {
		b.use(len(p))
		return
	}
	b.came.Add(&c.server.pool.Pools, p)
	b.readable.Signal()
}

// endBody handles END_STREAM, with trailers.
func (c *serverConn) endBody(id uint32, trailers []http1wire.Field) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	x := c.streams[id]
	if x == nil {
		return nil
	}
	b := &x.body
	if b.declared > 0 {
		return wire.StreamFault(id, wire.ProtocolError, "a body shorter than content-length (section 8.1.1)")
	}
	if x.trailer != nil {
		b.trailers = trailers
	}
	b.ended = true
	b.readable.Signal()
	return nil
}

// use counts bytes as read, and gives the client back what is worth a frame. The mutex is held.
func (b *requestBody) use(n int) {
	c := b.exchange.conn
	c.credit += int64(n)
	c.giveCredit()
	if b.credit += int64(n); b.ended || b.credit < streamWindow/2 {
		return
	}
	c.out.set(wire.AppendWindowUpdate(c.out.room(), b.exchange.id, int32(b.credit))) //nolint:gosec // below the window
	b.window += b.credit
	b.credit = 0
}

// failLocked ends a body before its end. The mutex is held.
func (b *requestBody) failLocked(err error) {
	if b.err == nil && !b.ended {
		b.err = err
	}
	b.readable.Broadcast()
}

// Read reads from the body.
func (b *requestBody) Read(p []byte) (int, error) {
	x := b.exchange
	if !x.guard.Read() {
		return 0, serving.ErrFinished
	}
	defer x.guard.EndRead()
	if b.expects {
		b.expects = false
		x.sendContinue()
	}
	c := x.conn
	c.mutex.Lock()
	defer c.mutex.Unlock()
	var since time.Time
	for {
		if !x.guard.Open() {
			return 0, serving.ErrFinished // What there was has been discarded.
		}
		switch n := b.came.Take(&c.server.pool.Pools, p); {
		case n > 0:
			b.bytes += int64(n)
			if !since.IsZero() {
				b.waited += time.Since(since)
			}
			b.use(n)
			c.out.start()
			if b.ended && b.came.Empty() {
				return n, b.atEnd()
			}
			return n, nil
		case b.closed:
			return 0, errBodyClosed
		case b.ended && b.came.Empty():
			return 0, b.atEnd()
		case b.err != nil:
			return 0, b.err
		case len(p) == 0:
			return 0, nil
		}
		if err := b.wait(&since); err != nil {
			return 0, err
		}
	}
}

// atEnd makes the trailers visible. The mutex is held.
func (b *requestBody) atEnd() error {
	for _, one := range b.trailers {
		b.exchange.trailer[one.Name] = append(b.exchange.trailer[one.Name], one.Value)
	}
	b.trailers = nil
	return io.EOF
}

// wait waits for more, within the limits that the client is under. since is when the Read began to wait, for its first
// wait zero. The mutex is held.
func (b *requestBody) wait(since *time.Time) error {
	now := time.Now()
	if since.IsZero() {
		*since = now
	}
	by, own := b.deadline(*since)
	switch {
	case by.IsZero():
		b.readable.Wait()
		return nil
	case by.After(now):
		b.alarm(by.Sub(now))
		b.readable.Wait()
		return nil
	case own:
		return os.ErrDeadlineExceeded
	}
	b.err = errTooSlow
	return b.err
}

// deadline returns until when a Read that began to wait at a time may wait, and whether the handler has set that.
func (b *requestBody) deadline(since time.Time) (by time.Time, own bool) {
	server := b.exchange.conn.server
	switch {
	case b.custom:
		return b.by, true
	case b.relaxed || !b.limited:
		return time.Time{}, false
	}
	if server.ReadTimeout > 0 {
		by = since.Add(server.ReadTimeout)
	}
	if server.MinRate > 0 {
		if at := since.Add(allowance(b.bytes, server.MinRate) - b.waited); by.IsZero() || at.Before(by) {
			by = at
		}
	}
	return by, false
}

// maxSeconds bounds the time that the bytes of a client earn it. Nanoseconds of it fit into a time.Duration.
const maxSeconds = 1e9

// allowance returns how long a client may take for bytes of a body. In integers, nanoseconds would overflow behind
// 9 GB.
func allowance(bytes int64, rate int) time.Duration {
	return rateGrace + time.Duration(min(float64(bytes)/float64(rate), maxSeconds)*float64(time.Second))
}

// alarm has a Read that waits look at the clock again after a time. The mutex is held.
func (b *requestBody) alarm(after time.Duration) {
	if b.timer == nil {
		x := b.exchange
		c, id := x.conn, x.id
		b.timer = time.AfterFunc(after, func() {
			c.mutex.Lock()
			defer c.mutex.Unlock()
			if c.streams[id] == x { // The exchange is not another request's.
				x.body.readable.Broadcast()
			}
		})
		return
	}
	b.timer.Reset(after)
}

// Close ends reading for the handler. What comes later is dropped.
func (b *requestBody) Close() error {
	x := b.exchange
	if !x.guard.Read() {
		return nil
	}
	defer x.guard.EndRead()
	x.conn.mutex.Lock()
	defer x.conn.mutex.Unlock()
	b.drop()
	b.readable.Broadcast()
	x.conn.out.start()
	return nil
}

// drop gives back what has not been read. The mutex is held.
func (b *requestBody) drop() {
	if b.closed {
		return
	}
	b.closed = true
	if left := b.came.Len(); left > 0 {
		b.use(left)
	}
	b.came.Release(&b.exchange.conn.server.pool.Pools)
}

// discard drops what has come, and all that comes later, and gives the client back what it took of the window of the
// connection. The mutex is held.
func (b *requestBody) discard() {
	c := b.exchange.conn
	b.failLocked(serving.ErrFinished) // What comes later counts as read.
	c.credit += int64(b.came.Len())
	b.came.Release(&b.exchange.conn.server.pool.Pools)
	c.giveCredit()
}
