package buffering

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/sluiceproxy/sluice/httpio/replay"
	"github.com/sluiceproxy/sluice/middleware/answer"
	"github.com/sluiceproxy/sluice/telemetry"
)

// requestState is one request whose bodies are buffered.
type requestState struct {
	buffering *Buffering
	writer    http.ResponseWriter
	request   *http.Request
	next      http.Handler
	// body is the request's body, nil without one.
	body *replay.Body
	// phase is what goes on, bytes the memory that the bodies take, and holder what ends the request; nil while that is
	// little.
	phase  phase
	bytes  int64
	holder *holder
}

func (s *requestState) release() {
	s.finish()
	if s.body != nil {
		s.body.Release()
	}
}

// serve answers the request.
func (s *requestState) serve() {
	if !s.receive() {
		return
	}
	s.cancelable()
	if s.buffering.requestOnly {
		s.passResponse()
		return
	}
	record := telemetry.RecordFrom(s.request.Context())
	status, reason, released := record.Status, record.Reason, true
	for number := 1; ; number++ {
		record.Released = false
		again := s.newWriter(number).serve(s.attempt())
		// A service that was tried before may keep a part of the request although the last one does not.
		released = released && record.Released
		record.Released = released
		if !again {
			return
		}
		s.buffering.retried.Add(1)
		record.Status, record.Reason, record.Broken = status, reason, false
	}
}

// receive reads the whole body, and reports whether there is something to go on with.
func (s *requestState) receive() bool {
	b, r := s.buffering, s.request
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
	s.body = new(replay.Body)
	s.body.Init(r.Body, r.ContentLength, limit, &b.memory)
	s.body.Measure(s)
	err := s.body.Fill(inMemory)
	if !s.enter(serving) {
		s.refuseEnded()
		return false
	}
	if err != nil {
		s.unreadable(err)
		return false
	}
	// The whole body is there.
	delete(r.Header, "Expect")
	if !hasTrailer(r.Trailer) {
		r.ContentLength, _, _ = s.body.Progress()
		r.TransferEncoding = nil
	}
	s.rewind(r)
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
func (s *requestState) rewind(r *http.Request) {
	switch {
	case r.Body == nil || r.Body == http.NoBody:
	case r.ContentLength == 0:
		r.Body = http.NoBody
	default:
		reader := new(replay.Reader)
		s.body.Open(reader)
		r.Body = reader
	}
}

// unreadable answers a request whose body could not be had.
func (s *requestState) unreadable(err error) {
	b := s.buffering
	if errors.Is(err, replay.ErrTooLarge) {
		b.refuse(s.writer, s.request, http.StatusRequestEntityTooLarge, b.requestReason())
		return
	}
	if _, ok := errors.AsType[*replay.DiskError](err); ok {
		answer.Refuse(s.writer, s.request, http.StatusInternalServerError, b.name,
			"reading the request's body: "+err.Error())
		return
	}
	if answer.UnreadableBody(s.writer, s.request, b.name, err) == http.StatusRequestEntityTooLarge {
		b.tooLarge.Add(1)
	}
}

// attempt returns the request for an attempt. Handlers edit it in place, so it is a copy if another may follow.
func (s *requestState) attempt() *http.Request {
	if s.buffering.retry == nil {
		return s.request
	}
	r := s.request.WithContext(s.request.Context())
	target := *s.request.URL
	r.URL, r.Header = &target, s.request.Header.Clone()
	s.rewind(r)
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
