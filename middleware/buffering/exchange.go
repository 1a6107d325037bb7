package buffering

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/sluiceproxy/sluice/httpio/replay"
	"github.com/sluiceproxy/sluice/middleware/answer"
	"github.com/sluiceproxy/sluice/telemetry"
)

// exchange is one request whose bodies are buffered.
type exchange struct {
	buffering *Buffering
	writer    http.ResponseWriter
	request   *http.Request
	next      http.Handler
	// body is the request's body, nil without one.
	body *replay.Body
}

func (x *exchange) release() {
	if x.body != nil {
		x.body.Release()
	}
}

// serve answers the request.
func (x *exchange) serve() {
	if !x.receive() {
		return
	}
	record := telemetry.RecordFrom(x.request.Context())
	status, reason, released := record.Status, record.Reason, true
	for number := 1; ; number++ {
		record.Released = false
		again := x.newWriter(number).serve(x.attempt())
		// A service that was tried before may keep a part of the request although the last one does not.
		released = released && record.Released
		record.Released = released
		if !again {
			return
		}
		x.buffering.retried.Add(1)
		record.Status, record.Reason, record.Broken = status, reason, false
	}
}

// receive reads the whole body, and reports whether there is something to go on with.
func (x *exchange) receive() bool {
	b, r := x.buffering, x.request
	if r.Body == nil || r.Body == http.NoBody {
		return true
	}
	limit, inMemory := b.maxRequest, b.memRequest
	if limit == 0 {
		limit = -1
	}
	if r.ContentLength > 0 && r.ContentLength < inMemory {
		// The end may come by itself, which takes room too.
		inMemory = r.ContentLength + 1
	}
	x.body = new(replay.Body)
	x.body.Init(r.Body, r.ContentLength, limit, &b.memory)
	if err := x.body.Fill(inMemory); err != nil {
		x.unreadable(err)
		return false
	}
	// The whole body is there.
	delete(r.Header, "Expect")
	if !hasTrailer(r.Trailer) {
		r.ContentLength, _, _ = x.body.Progress()
		r.TransferEncoding = nil
	}
	x.rewind(r)
	return true
}

// hasTrailer reports whether a body came with trailers, which travel with chunks only (RFC 9112 section 7.1).
func hasTrailer(trailer http.Header) bool {
	for _, values := range trailer {
		if len(values) > 0 {
			return true
		}
	}
	return false
}

// rewind gives a request its body from the beginning.
func (x *exchange) rewind(r *http.Request) {
	switch {
	case r.Body == nil || r.Body == http.NoBody:
	case r.ContentLength == 0:
		r.Body = http.NoBody
	default:
		reader := new(replay.Reader)
		x.body.Open(reader)
		r.Body = reader
	}
}

// unreadable answers a request whose body could not be had.
func (x *exchange) unreadable(err error) {
	b := x.buffering
	if errors.Is(err, replay.ErrTooLarge) {
		b.refuse(x.writer, x.request, http.StatusRequestEntityTooLarge, b.requestReason())
		return
	}
	if _, ok := errors.AsType[*replay.DiskError](err); ok {
		answer.Refuse(x.writer, x.request, http.StatusInternalServerError, b.name,
			"reading the request's body: "+err.Error())
		return
	}
	if answer.UnreadableBody(x.writer, x.request, b.name, err) == http.StatusRequestEntityTooLarge {
		b.tooLarge.Add(1)
	}
}

// attempt returns the request for an attempt. Handlers edit it in place, so it is a copy if another may follow.
func (x *exchange) attempt() *http.Request {
	if x.buffering.retry == nil {
		return x.request
	}
	r := x.request.WithContext(x.request.Context())
	target := *x.request.URL
	r.URL, r.Header = &target, x.request.Header.Clone()
	x.rewind(r)
	return r
}

// requestReason says why a request is refused.
func (b *Buffering) requestReason() string {
	return tooLarge("request's body", "maxRequestBodyBytes", b.maxRequest)
}

// responseReason says why a response is refused.
func (b *Buffering) responseReason() string {
	return tooLarge("response's body", "maxResponseBodyBytes", b.maxResponse)
}

func (b *Buffering) refuse(w http.ResponseWriter, r *http.Request, status int, reason string) {
	b.tooLarge.Add(1)
	answer.Refuse(w, r, status, b.name, reason)
}

// tooLarge says which limit was exceeded.
func tooLarge(what, option string, limit int64) string {
	return fmt.Sprintf("the %s is larger than %s, %d", what, option, limit)
}
