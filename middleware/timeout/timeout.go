// Package timeout implements the middleware timeout, which bounds how long the requests of a route may take.
//
// When the time of a request is over, its context ends (context.DeadlineExceeded) and its response is cut. The handler
// runs on the caller's goroutine, so that nothing is written after its return.
package timeout

import (
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/middleware/answer"
)

// Timeout is one configured timeout.
type Timeout struct {
	name                    string
	request, response, idle time.Duration
	// over counts the requests whose time was over, by limit.
	over [limits]atomic.Uint64
}

// New checks the definition: no limit is negative, and at least one of request, responseHeader and idle is set.
func New(name string, config dynamic.Timeout) (*Timeout, error) {
	t := &Timeout{
		name: name, request: time.Duration(config.Request), response: time.Duration(config.ResponseHeader),
		idle: time.Duration(config.Idle),
	}
	for _, option := range []struct {
		name  string
		value time.Duration
	}{{"request", t.request}, {"responseHeader", t.response}, {"idle", t.idle}} {
		if option.value < 0 {
			return nil, fmt.Errorf("timeout.%s %s is negative", option.name, option.value)
		}
	}
	if t.request == 0 && t.response == 0 && t.idle == 0 {
		return nil, errors.New("timeout sets none of request, responseHeader and idle")
	}
	return t, nil
}

// NoRetain says that no part of a request outlives its handler here.
func (*Timeout) NoRetain() {}

// Counts returns how many requests each limit has ended ("request", "response_header", "idle"); "idle_client" are those
// of idle whose client had not sent its whole body before a response began.
func (t *Timeout) Counts() map[string]uint64 {
	counts := make(map[string]uint64, limits-1)
	for l, name := range map[limit]string{
		request: "request", responseHeader: "response_header", idle: "idle",
		idleClient: "idle_client",
	} {
		counts[name] = t.over[l].Load()
	}
	return counts
}

// Wrap returns a handler that calls next with a request whose context ends with its time. If no response has begun by
// then, next answers, as a service does with 504, or the handler answers 504. A response that has begun is cut: the
// handler ends in a panic with [http.ErrAbortHandler], unless next has. A client that was idle within its body is
// answered with 408.
func (t *Timeout) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := t.start(w, r)
		defer s.conclude(r)
		next.ServeHTTP(&s.writer, s.request)
		s.completed = true
	})
}

// conclude ends a request after its handler, which has returned or panicked. It is deferred.
func (s *requestState) conclude(r *http.Request) {
	over := s.end()
	if over == none {
		return
	}
	answer.Note(r, s.timeout.name, s.timeout.reason(over))
	switch {
	case s.cut && s.completed:
		panic(http.ErrAbortHandler)
	case s.begun.Load() || r.Context().Err() != nil:
		return
	case !s.completed:
		//nolint:errorlint // net/http compares the value of a panic the same way.
		if cause := recover(); cause != http.ErrAbortHandler {
			panic(cause)
		}
	}
	s.writer.Restore()
	httpio.Error(s.writer.ResponseWriter, r, over.status(), http.StatusText(over.status())+"\n")
}

// reason says what was too long.
func (t *Timeout) reason(over limit) string {
	switch over {
	case request:
		return "the request took longer than request, " + t.request.String()
	case responseHeader:
		return "no response began within responseHeader, " + t.response.String()
	case idleClient:
		return "the client sent nothing of its body for idle, " + t.idle.String()
	}
	return "nothing moved for idle, " + t.idle.String()
}
