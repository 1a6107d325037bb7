package buffering

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/httpio/intercept"
	"github.com/sluiceproxy/sluice/httpio/replay"
	"github.com/sluiceproxy/sluice/middleware/answer"
	"github.com/sluiceproxy/sluice/telemetry"
)

// errEnded is returned to a handler that writes after its return.
var errEnded = errors.New("the handler has returned")

// writer is the response of one attempt. A response that is discarded gives way to another attempt, or, with a
// failure, to an error response.
type writer struct {
	intercept.Writer
	state  *requestState
	number int
	// streams says that the response passes as it is written, whatever it is.
	streams bool
	// body is that of a held response, limited that of one which passes.
	body    replay.Spool
	limited limitedWriter
	failure error
}

// newWriter returns the writer of an attempt. Attempts count from 1.
func (s *requestState) newWriter(number int) *writer {
	w := &writer{state: s, number: number}
	w.body = replay.Spool{InMemory: s.buffering.memResponse, Limit: s.buffering.maxResponse, Meter: s}
	w.Decider = w
	w.Reset(s.writer)
	return w
}

// Decide holds the response, unless it streams or there is another attempt.
func (w *writer) Decide(status int) (int, intercept.Decision) {
	header := w.ResponseWriter.Header()
	switch {
	case !w.streams && w.repeats(status):
		return status, intercept.Discard
	case w.streams || status == http.StatusSwitchingProtocols || isEvents(header) || isGRPC(header):
		if !w.state.enter(sending) {
			return status, intercept.Discard
		}
		if limit := w.state.buffering.maxResponse; limit > 0 {
			w.limited = limitedWriter{to: w.ResponseWriter, left: limit}
			w.Body = &w.limited
		}
		return status, intercept.Pass
	case w.announcesTooMuch(status):
		w.failure = replay.ErrTooLarge
		w.Body = refusal{replay.ErrTooLarge}
		return status, intercept.Discard
	case bodiless(status):
		w.Body = refusal{http.ErrBodyNotAllowed}
	default:
		w.Body = &w.body
	}
	return status, intercept.Hold
}

// repeats reports whether an attempt whose response has a status is discarded for another.
func (w *writer) repeats(status int) bool {
	s := w.state
	retry := s.buffering.retry
	if retry == nil || w.number > maxRetries || w.Informed || s.request.Context().Err() != nil {
		return false
	}
	return retry(try{method: s.request.Method, number: w.number, status: status})
}

// announcesTooMuch reports whether the response's length exceeds the limit.
func (w *writer) announcesTooMuch(status int) bool {
	limit := w.state.buffering.maxResponse
	if limit == 0 || w.state.request.Method == http.MethodHead || bodiless(status) {
		return false
	}
	length, err := strconv.ParseInt(w.ResponseWriter.Header().Get("Content-Length"), 10, 64)
	return err == nil && length > limit
}

// bodiless reports whether responses with a status have no body (RFC 9110 section 6.4.1).
func bodiless(status int) bool {
	return status < http.StatusOK || status == http.StatusNoContent || status == http.StatusNotModified
}

// serve calls the next handler and answers the client, or reports that there is to be another attempt.
func (w *writer) serve(r *http.Request) (again bool) {
	defer w.release()
	s := w.state
	returned := w.Serve(s.next, w, r)
	if s.Ended() != nil {
		w.abandon()
		return false
	}
	if !returned && s.request.Context().Err() != nil {
		panic(http.ErrAbortHandler)
	}
	switch w.Decision() {
	case intercept.Undecided:
		return w.unwritten()
	case intercept.Hold:
		w.failure = w.body.Err()
		if w.failure == nil && returned {
			if s.enter(sending) {
				w.commit()
				s.conclude()
			} else {
				w.abandon()
			}
			return false
		}
		again = w.failure == nil && w.repeats(http.StatusBadGateway)
	case intercept.Discard:
		again = w.failure == nil
	default:
		if w.limited.exceeded {
			panic(http.ErrAbortHandler)
		}
		s.conclude()
		return false
	}
	w.Restore()
	if !again {
		w.refuse()
	}
	return again
}

// abandon answers for a request that was ended, or aborts its response if that has begun.
func (w *writer) abandon() {
	if w.Decision() == intercept.Pass {
		panic(http.ErrAbortHandler)
	}
	w.Restore()
	w.state.refuseEnded()
}

// unwritten ends an attempt without a status, which stands for 200 unless the client has left.
func (w *writer) unwritten() (again bool) {
	ctx := w.state.request.Context()
	if w.streams || ctx.Err() != nil || telemetry.RecordFrom(ctx).Status == telemetry.StatusClientClosedRequest {
		return false
	}
	if again = w.repeats(http.StatusOK); again {
		w.Restore()
	}
	return again
}

// commit sends a response that is whole.
func (w *writer) commit() {
	s := w.state
	if w.hasTrailers() {
		delete(w.Head, "Content-Length")
	} else if _, declared := w.Head["Content-Length"]; !declared && !bodiless(w.Status) &&
		(w.body.Len() > 0 || s.request.Method != http.MethodHead) {
		w.Head["Content-Length"] = []string{strconv.FormatInt(w.body.Len(), 10)}
	}
	w.Commit()
	if w.body.Len() == 0 {
		return
	}
	if _, err := w.body.WriteTo(s.writer); err != nil {
		answer.Note(s.request, s.buffering.name, "sending the response: "+err.Error())
		panic(http.ErrAbortHandler)
	}
}

// hasTrailers reports whether trailers follow the body.
func (w *writer) hasTrailers() bool {
	if len(w.Head["Trailer"]) > 0 {
		return true
	}
	for name := range w.Header() {
		if strings.HasPrefix(name, http.TrailerPrefix) {
			return true
		}
	}
	return false
}

// refuse answers in place of a response that broke off or could not be held.
func (w *writer) refuse() {
	s, status := w.state, http.StatusInternalServerError
	var reason string
	switch {
	case errors.Is(w.failure, replay.ErrTooLarge):
		s.buffering.responseTooLarge.Add(1)
		reason = s.buffering.responseReason()
	case w.failure != nil:
		reason = "keeping the response: " + w.failure.Error()
	default:
		status, reason = http.StatusBadGateway, "the response broke off"
		if cause := telemetry.RecordFrom(s.request.Context()).Reason; cause != "" {
			reason += ": " + cause
		}
	}
	answer.Refuse(s.writer, s.request, status, s.buffering.name, reason)
}

// release ends the attempt for goroutines that the handler left running.
func (w *writer) release() {
	s := w.state
	if w.limited.exceeded {
		s.buffering.responseTooLarge.Add(1)
		answer.Note(s.request, s.buffering.name, s.buffering.responseReason())
	}
	w.End(errEnded)
	w.body.Release()
}

// limitedWriter passes a body on up to a limit.
type limitedWriter struct {
	to       io.Writer
	left     int64
	exceeded bool
}

// Write writes p, or fails with replay.ErrTooLarge.
func (l *limitedWriter) Write(p []byte) (int, error) {
	if l.exceeded = l.exceeded || int64(len(p)) > l.left; l.exceeded {
		return 0, replay.ErrTooLarge
	}
	l.left -= int64(len(p))
	return l.to.Write(p)
}

// refusal is the destination of a body that is not accepted.
type refusal struct{ err error }

// Write fails.
func (r refusal) Write([]byte) (int, error) { return 0, r.err }

// ReadsStatus implements httpio.StatusReader.
func (*writer) ReadsStatus() {}
