package entrypoint

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/http1/wire"
)

// deadlineStep is how often the deadline of reading is moved at most.
const deadlineStep = time.Second

// errBodyClosed is what Read returns after Close.
var errBodyClosed = errors.New("entrypoint: read of a closed request body")

// body guards the body of a request of HTTP/2.
type body struct {
	exchange *Exchange
	inner    io.ReadCloser
	// pause bounds the wait for the next bytes; none when it is 0 or relaxed is set.
	pause   time.Duration
	relaxed atomic.Bool
	// next is when the deadline must be moved again; zero when none is set. It belongs to who reads.
	next   time.Time
	closed atomic.Bool
}

// guardBody guards the body of a request; requests without one keep http.NoBody, which others compare with.
func (x *Exchange) guardBody() io.ReadCloser {
	r := x.received
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 && len(r.Header["Content-Length"]) == 0 {
		return http.NoBody
	}
	x.body.exchange, x.body.inner = x, r.Body
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
		// A client of gRPC may be silent for as long as it likes before the first response.
		x.body.pause = x.entrypoint.settings.read
	}
	return &x.body
}

// lengthFlaw says what is wrong with the length that a request of HTTP/2 declares. Its server takes one that it can't read for 0, does
// not look at one without a body, and hands out an empty body before it has ended: each would become a whole request without a body
// (RFC 9110, section 8.6, RFC 9113, section 8.1.1). Where there is none to come, the body is then http.NoBody.
func lengthFlaw(r *http.Request) string {
	declared := r.Header["Content-Length"]
	if len(declared) == 0 {
		return ""
	}
	length, ok := wire.ParseLength(declared[0])
	switch {
	case !ok || len(declared) > 1:
		return "content-length is not one number"
	case length != r.ContentLength:
		return "content-length counts more than the body has"
	case length > 0:
		return ""
	}
	var more [1]byte
	if _, err := io.ReadFull(r.Body, more[:]); !errors.Is(err, io.EOF) {
		return "content-length is 0, and the body has not ended"
	}
	r.Body = http.NoBody
	return ""
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
	return b.inner.Close()
}

func (b *body) read(p []byte) (int, error) {
	if b.pause > 0 && !b.relaxed.Load() {
		b.moveDeadline()
	}
	n, err := b.inner.Read(p)
	if b.exchange.received.ContentLength < 0 {
		b.exchange.bytes.Add(int64(n))
	}
	if errors.Is(err, io.EOF) {
		b.clearDeadline()
		b.takeTrailers()
	}
	return n, err
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
	x.believe(x.request.Trailer)
}
