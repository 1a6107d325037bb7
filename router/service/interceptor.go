package service

import (
	"net/http"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/httpio/intercept"
	"github.com/sluiceproxy/sluice/httpio/replay"
	"github.com/sluiceproxy/sluice/telemetry"
)

// responseInterceptor is the response writer of the main service. It passes a response on, unless its status is one
// of the codes: then the response is discarded. Informational responses are held back until the status is known.
type responseInterceptor struct {
	intercept.Writer
	codes *dynamic.StatusCodes
	// body is the request body, nil without one.
	body   *replay.Body
	cancel func()
	timer  *time.Timer

	// mutex guards over, which says that the handler has returned: from then on the connection's deadlines are
	// not changed.
	mutex       sync.Mutex
	over        bool
	interrupted bool
}

func newResponseInterceptor(w http.ResponseWriter, codes *dynamic.StatusCodes, cancel func()) *responseInterceptor {
	s := &responseInterceptor{codes: codes, cancel: cancel}
	s.Decider, s.HoldInterim = s, true
	s.Reset(w)
	return s
}

// serve runs a handler and reports whether its response was discarded. A discarded response may break off. A handler
// that returns without a response has answered 200, unless the client has left.
func (s *responseInterceptor) serve(handler http.Handler, r *http.Request) (discarded bool) {
	defer s.end()
	left := func() bool {
		return r.Context().Err() != nil || telemetry.RecordFrom(r.Context()).Status == telemetry.StatusClientClosedRequest
	}
	if s.Serve(handler, s, r) && !left() {
		s.Begin()
	}
	if s.Decision() != intercept.Discard {
		return false
	}
	s.Restore()
	return true
}

// end closes the writer for goroutines that the handler left running.
func (s *responseInterceptor) end() {
	if s.timer != nil {
		s.timer.Stop()
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.over = true
}

// Decide discards a response with one of the codes, if the fallback can get the whole request body.
func (s *responseInterceptor) Decide(status int) (int, intercept.Decision) {
	if s.codes.Contains(status) && status >= http.StatusOK && s.body.Abandon() {
		s.timer = time.AfterFunc(drainTime, s.cancel)
		return status, intercept.Discard
	}
	if s.body != nil {
		s.body.Settle()
	}
	return status, intercept.Pass
}

// SetReadDeadline sets the read deadline of the body. A deadline in the past ends only the pending read of this
// attempt's reader, if the body can't survive a real deadline.
func (s *responseInterceptor) SetReadDeadline(deadline time.Time) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.over {
		return intercept.ErrDiscarded
	}
	if !deadline.IsZero() && !deadline.After(time.Now()) {
		if s.body.Leave() {
			return nil
		}
		s.body.Interrupt()
	}
	s.interrupted = true
	return http.NewResponseController(s.ResponseWriter).SetReadDeadline(deadline)
}

// SetWriteDeadline sets the write deadline of the response.
func (s *responseInterceptor) SetWriteDeadline(deadline time.Time) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.over || s.Decision() == intercept.Discard {
		return intercept.ErrDiscarded
	}
	return http.NewResponseController(s.ResponseWriter).SetWriteDeadline(deadline)
}

// ReadsStatus implements httpio.StatusReader.
func (*responseInterceptor) ReadsStatus() {}
