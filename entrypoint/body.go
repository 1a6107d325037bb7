package entrypoint

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/canonical"
)

const (
	// discardBytes and discardTime bound what is read of a body that the handler did not read, to keep the connection. The
	// time is short, since the end of the response may be waiting for it.
	discardBytes = 256 << 10
	discardTime  = 200 * time.Millisecond
	// deadlineStep is how often the deadline of reading is moved at most.
	deadlineStep = time.Second
)

// errBodyClosed is what Read returns after Close.
var errBodyClosed = errors.New("entrypoint: read of a closed request body")

// body guards the body of a request.
type body struct {
	exchange *Exchange
	inner    io.ReadCloser
	// pause bounds the wait for the next bytes; none when it is 0 or relaxed is set.
	pause   time.Duration
	relaxed atomic.Bool
	// next is when the deadline must be moved again; zero when none is set. It belongs to who reads.
	next   time.Time
	closed atomic.Bool
	// ended says that the body was read to its end, expects that the client waits for 100 Continue before it sends anything.
	ended   atomic.Bool
	started bool
	expects bool
}

// guardBody guards the body of a request; requests without one keep http.NoBody, which others compare with.
func (x *Exchange) guardBody() io.ReadCloser {
	r := x.received
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
		x.body.ended.Store(true)
		return http.NoBody
	}
	x.body.exchange, x.body.inner = x, r.Body
	x.body.expects = r.Header.Get("Expect") != ""
	if x.http1 || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
		// A client of gRPC, which is HTTP/2, may be silent for as long as it likes before the first response.
		x.body.pause = x.entrypoint.settings.read
	}
	if x.http1 {
		// Without it the server would read the rest of the body before the response, without a deadline.
		_ = http.NewResponseController(x.inner).EnableFullDuplex()
	}
	return &x.body
}

// Read reads from the body.
func (b *body) Read(p []byte) (int, error) {
	x := b.exchange
	if !x.enter(oneRead) {
		return 0, ErrFinished
	}
	defer x.leave(oneRead)
	if b.closed.Load() {
		return 0, errBodyClosed
	}
	return b.read(p)
}

// Close ends reading for the handler.
func (b *body) Close() error {
	x := b.exchange
	if !x.enter(oneRead) {
		return nil
	}
	defer x.leave(oneRead)
	b.closed.Store(true)
	if !x.http1 {
		return b.inner.Close()
	}
	return nil
}

func (b *body) read(p []byte) (int, error) {
	b.started = true
	if b.pause > 0 && !b.relaxed.Load() {
		b.moveDeadline()
	}
	n, err := b.inner.Read(p)
	switch {
	case err == nil:
	case errors.Is(err, io.EOF):
		b.ended.Store(true)
		b.clearDeadline()
		b.takeTrailers()
	default:
		// What follows on the connection may be the rest of this body, and must not be taken for a request.
		b.breakOff()
	}
	return n, err
}

func (b *body) breakOff() {
	x := b.exchange
	if !x.http1 {
		return
	}
	x.closeAfter.Store(true)
	if x.connection != nil {
		x.connection.stopReading()
	}
}

func (b *body) moveDeadline() {
	now := time.Now()
	if now.Before(b.next) {
		return
	}
	step := min(deadlineStep, b.pause/4)
	b.next = now.Add(step)
	b.setDeadline(now.Add(b.pause + step))
	if b.relaxed.Load() {
		// The response began in between.
		b.setDeadline(time.Time{})
	}
}

func (b *body) clearDeadline() {
	if !b.next.IsZero() {
		b.setDeadline(time.Time{})
	}
}

func (b *body) setDeadline(t time.Time) {
	_ = http.NewResponseController(b.exchange.inner).SetReadDeadline(t)
}

// relax ends the bound on pauses, because the response has begun or the handler sets its own.
func (b *body) relax() {
	if b.pause > 0 && b.inner != nil && !b.relaxed.Swap(true) {
		b.setDeadline(time.Time{})
	}
}

// takeTrailers makes trailers visible that the client did not announce, and believes none that it must not set.
func (b *body) takeTrailers() {
	x := b.exchange
	if x.request.Trailer == nil && x.received.Trailer != nil {
		x.request.Trailer = x.received.Trailer
	}
	canonical.StripUntrusted(x.request.Trailer)
	if x.entrypoint.settings.underscore != canonical.UnderscoreKeep {
		canonical.UnderscoreDelete.Apply(x.request.Trailer)
	}
}

// isLong reports whether more is to come than discard would read.
func (b *body) isLong() bool {
	return b.inner != nil && !b.ended.Load() && b.exchange.http1 && b.exchange.received.ContentLength > discardBytes
}

// discard reads what is left of a body after the handler, or gives the connection up.
func (b *body) discard() {
	x := b.exchange
	if b.ended.Load() || b.inner == nil || x.closeAfter.Load() {
		if !b.ended.Load() && b.inner != nil {
			b.breakOff()
		}
		return
	}
	if b.expects && !b.started {
		b.breakOff()
		return
	}
	b.pause = 0
	b.next = time.Now()
	b.setDeadline(b.next.Add(discardTime))
	buffer := make([]byte, 4<<10)
	for total := 0; total < discardBytes && !b.ended.Load(); {
		n, err := b.read(buffer)
		total += n
		if err != nil {
			break
		}
	}
	if !b.ended.Load() {
		b.breakOff()
	}
}
