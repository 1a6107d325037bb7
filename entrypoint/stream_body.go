package entrypoint

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/http1/wire"
)

// errBodyClosed is what Read returns after Close.
var errBodyClosed = errors.New("entrypoint: read of a closed request body")

// body guards the body of a request of HTTP/3.
type body struct {
	request *streamRequest
	inner   io.ReadCloser
	// limited says that the client must send at minRate; pause bounds the wait for the next bytes, unless it is 0. Both
	// end when relaxed is set.
	limited bool
	pause   time.Duration
	relaxed atomic.Bool
	closed  atomic.Bool
	// bytes is what has come, waited how long it took. They belong to the reader.
	bytes  int64
	waited time.Duration
	// due is until when the Read that is under way may wait, in nanoseconds since the start of the request by the
	// monotonic clock; 0 without one. timer runs while armed is set, and fires at due or before.
	due   atomic.Int64
	armed atomic.Bool
	timer *time.Timer
}

// guardBody guards the body of a request; requests without one keep http.NoBody, which others compare with.
func (x *streamRequest) guardBody() io.ReadCloser {
	r := x.received
	if x.upgrades || r.Body == nil || r.Body == http.NoBody ||
		r.ContentLength == 0 && len(r.Header["Content-Length"]) == 0 {
		return http.NoBody
	}
	x.body.request, x.body.inner = x, r.Body
	if r.ContentLength == 0 || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
		// A client of gRPC may be silent for as long as it likes before the first response, unless only the end of the
		// body is awaited.
		x.body.limited, x.body.pause = true, x.entrypoint.settings.read
	}
	return &x.body
}

// lengthFlaw says what is wrong with the length that a request of HTTP/3 declares. Its server hands out an empty body
// before it has ended, which would become a whole request without a body (RFC 9110, section 8.6, RFC 9114, section
// 4.1.2). Where there is none to come, the body is then http.NoBody.
func lengthFlaw(r *http.Request) string {
	declared := r.Header["Content-Length"]
	if len(declared) == 0 {
		return openFlaw(r)
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

// openFlaw waits for the end or the first byte of a body of undeclared length: of a request of HTTP/3 the server does
// not say whether the stream has ended behind its head, and an endpoint of HTTP/1.1 would get it with an empty
// body in chunks. With methods that have a body as a rule, a client may wait for the response before it sends any.
func openFlaw(r *http.Request) string {
	switch r.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodConnect:
		return ""
	}
	var first [1]byte
	switch _, err := io.ReadFull(r.Body, first[:]); {
	case err == nil:
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(first[:]), r.Body), r.Body}
	case errors.Is(err, io.EOF):
		r.Body, r.ContentLength = http.NoBody, 0
	default:
		return "the body was neither begun nor ended"
	}
	return ""
}

// Read reads from the body.
func (b *body) Read(p []byte) (int, error) {
	x := b.request
	if !x.guard.Read() {
		return 0, ErrFinished
	}
	defer x.leaveRead()
	if b.closed.Load() {
		return 0, errBodyClosed
	}
	return b.read(p)
}

// Close ends reading for the handler.
func (b *body) Close() error {
	x := b.request
	if !x.guard.Read() {
		return nil
	}
	defer x.leaveRead()
	b.closed.Store(true)
	return b.inner.Close()
}

func (b *body) read(p []byte) (int, error) {
	limited := b.limited && !b.relaxed.Load()
	var start time.Time
	if limited {
		start = time.Now()
		b.expect(start)
	}
	n, err := b.inner.Read(p)
	if limited {
		b.due.Store(0)
		b.waited += time.Since(start)
		b.bytes += int64(n)
	}
	if b.request.received.ContentLength < 0 {
		b.request.bytes.Add(int64(n))
	}
	if errors.Is(err, io.EOF) {
		b.takeTrailers()
	}
	return n, err
}

// expect bounds the Read that is about to begin. The bound never moves back from one Read to the next, so that the
// timer has to be set only when it has fired.
func (b *body) expect(now time.Time) {
	wait := allowance(b.bytes) - b.waited
	if b.pause > 0 {
		wait = min(wait, b.pause)
	}
	b.due.Store(max(int64(now.Sub(b.request.record.Start)+wait), 1))
	if b.armed.Swap(true) {
		return
	}
	if b.timer == nil {
		b.timer = time.AfterFunc(wait, b.expire)
	} else {
		b.timer.Reset(wait)
	}
}

// maxSeconds bounds the time that the bytes of a client earn it. Nanoseconds of it fit into a time.Duration.
const maxSeconds = 1e9

// allowance returns how long a client may take for bytes of a body. In integers, nanoseconds would overflow behind 9
// GB.
func allowance(bytes int64) time.Duration {
	return rateGrace + time.Duration(min(float64(bytes)/minRate, maxSeconds)*float64(time.Second))
}

// expire ends a Read that waits for too long.
func (b *body) expire() {
	x := b.request
	if !x.guard.Read() {
		return
	}
	defer x.leaveRead()
	due := b.due.Load()
	if due == 0 {
		b.armed.Store(false)
		if due = b.due.Load(); due == 0 || b.armed.Swap(true) {
			return
		}
		// A Read began in between.
	}
	wait := time.Duration(due) - time.Since(x.record.Start)
	switch {
	case b.relaxed.Load():
	case wait > 0:
		b.timer.Reset(wait)
	default:
		_ = http.NewResponseController(x.inner).SetReadDeadline(time.Unix(1, 0))
	}
}

// relax ends the bounds, because the response has begun or the handler sets its own.
func (b *body) relax() { b.relaxed.Store(true) }

// stop ends the timer.
func (b *body) stop() {
	if b.timer != nil {
		b.timer.Stop()
	}
}

// takeTrailers makes trailers visible that the client did not announce, and drops those that it must not set.
func (b *body) takeTrailers() {
	x := b.request
	switch {
	case x.received.Trailer == nil:
	case x.request.Trailer == nil:
		x.request.Trailer = x.received.Trailer
	default:
		// The server of HTTP/3 makes a new map; a handler may have kept that with the names that were announced.
		maps.Copy(x.request.Trailer, x.received.Trailer)
	}
	x.believe(x.request.Trailer)
}
