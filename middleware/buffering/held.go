package buffering

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/httpio/held"
	"github.com/sluiceproxy/sluice/middleware/answer"
	"github.com/sluiceproxy/sluice/telemetry"
)

// errEndedEarly is the error of a request that was ended because it held much memory.
var errEndedEarly = errors.New("memory is short, and this request held much of it")

// past is a deadline that is over.
var past = time.Unix(1, 0)

// phase is what goes on with a request.
type phase uint8

const (
	// receiving reads the body from the client.
	receiving phase = iota
	// serving runs the next handler, and nothing is sent to the client.
	serving
	// sending sends the response.
	sending
	// finished is after the handler, or after the last byte that it has sent.
	finished
)

// holder is a request that holds much memory.
type holder struct {
	registered *held.Holder
	control    *http.ResponseController
	ended      atomic.Bool
	// mutex serializes the end with changes of the phase.
	mutex sync.Mutex
	phase phase
	// cancel ends the context of the next handler; nil where the request was small when that was called.
	cancel context.CancelFunc
}

// end ends the request, unless it has ended.
func (h *holder) end() bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.phase == finished {
		return false
	}
	h.ended.Store(true)
	// A server without deadlines goes on to the next byte of the body, or to the end of the response.
	switch h.phase {
	case receiving:
		_ = h.control.SetReadDeadline(past)
	case sending:
		_ = h.control.SetWriteDeadline(past)
	}
	if h.cancel != nil {
		h.cancel()
	}
	return true
}

// enter begins a phase, and reports whether the request goes on.
func (h *holder) enter(next phase) bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.phase = next
	return !h.ended.Load()
}

// Held implements replay.Meter. A request becomes a holder with held.MinBytes.
func (s *requestState) Held(change int64) {
	s.bytes += change
	if s.holder != nil {
		s.holder.registered.Set(s.bytes)
		return
	}
	if s.buffering.held == nil || s.bytes < held.MinBytes || telemetry.RecordFrom(s.request.Context()).Critical {
		return
	}
	s.holder = &holder{control: http.NewResponseController(s.writer), phase: s.phase}
	s.holder.registered = s.buffering.held.Add(s.bytes, s.holder.end)
}

// Ended implements replay.Meter.
func (s *requestState) Ended() error {
	if s.holder != nil && s.holder.ended.Load() {
		return errEndedEarly
	}
	return nil
}

// enter begins a phase, and reports whether the request goes on.
func (s *requestState) enter(next phase) bool {
	s.phase = next
	return s.holder == nil || s.holder.enter(next)
}

// cancelable gives a request that holds much memory a context that ends with it.
func (s *requestState) cancelable() {
	if s.holder == nil {
		return
	}
	ctx, cancel := context.WithCancel(s.request.Context())
	s.request = s.request.WithContext(ctx)
	s.holder.mutex.Lock()
	defer s.holder.mutex.Unlock()
	if s.holder.cancel = cancel; s.holder.ended.Load() {
		cancel()
	}
}

// passResponse calls the next handler, whose response passes as it comes.
func (s *requestState) passResponse() {
	if s.holder == nil {
		s.next.ServeHTTP(s.writer, s.request)
		return
	}
	w := s.newWriter(1)
	w.streams = true
	w.serve(s.request)
}

// refuseEnded answers for a request that was ended.
func (s *requestState) refuseEnded() {
	if after := s.buffering.held.RetryAfter(); after > 0 {
		s.writer.Header().Set("Retry-After", strconv.Itoa(int((after+time.Second-1)/time.Second)))
	}
	answer.Refuse(s.writer, s.request, http.StatusServiceUnavailable, s.buffering.name, errEndedEarly.Error())
}

// conclude aborts a response that was ended while its last bytes were sent: a server may drop what follows them, such
// as trailers, and end the response as if it were whole. After it, the response is not ended any more.
func (s *requestState) conclude() {
	if !s.enter(finished) {
		panic(http.ErrAbortHandler)
	}
}

// finish ends what Held began.
func (s *requestState) finish() {
	if s.holder == nil {
		return
	}
	if !s.holder.enter(finished) {
		answer.Note(s.request, s.buffering.name, errEndedEarly.Error())
		telemetry.RecordFrom(s.request.Context()).Code = telemetry.CodeOverloaded
	}
	if s.holder.cancel != nil {
		s.holder.cancel()
	}
	s.holder.registered.Remove()
}
