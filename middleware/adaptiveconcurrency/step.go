package adaptiveconcurrency

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/httpio/adaptivelifo"
	"github.com/sluiceproxy/sluice/middleware/answer"
	"github.com/sluiceproxy/sluice/middleware/response"
	"github.com/sluiceproxy/sluice/telemetry"
)

// smallBody is the length of the longest request body with which a latency says something about the service, and not
// about the connection of the client.
const smallBody = 64 << 10

// step is an adaptiveConcurrency with the limit of one owner.
type step struct {
	middleware *AdaptiveConcurrency
	limiter    *limiter
	states     sync.Pool
}

// NoRetain implements httpio.NoRetainer.
func (*step) NoRetain() {}

// Status returns the limit, the requests that count and those that wait, and the latencies of the last window and in
// the long run, in microseconds. There is no state.
func (s *step) Status() (state string, levels map[string]int64) {
	l := s.limiter
	return "", map[string]int64{
		"limit": l.limit.Load(), "in_flight": l.inFlight.Load(), "queued": int64(l.queue.Len()),
		"rtt_short_us": l.short.Load() / 1000, "rtt_long_us": l.long.Load() / 1000,
	}
}

// requestState is the writer of a request that counts.
type requestState struct {
	response.Writer
	step    *step
	arrived time.Duration
	record  *telemetry.Record
	// tries are those of the record before the request came here.
	tries int
	// measured says that the latency counts, and waited that the request had to wait for its place.
	measured, waited bool
	// answered says that the response has begun, and counted that the request counts until it is released. They are atomic
	// as a handler's goroutine may write after the handler has returned.
	answered, counted atomic.Bool
}

// Wrap returns a handler that calls next within the limit, and answers other requests itself. Streams do not count,
// since their length says nothing about the load.
func (s *step) Wrap(next http.Handler) http.Handler {
	reuse := !httpio.Retains(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if streams(r) {
			next.ServeHTTP(w, r)
			return
		}
		waited, err := s.limiter.acquire(r.Context())
		if waited && !errors.Is(err, adaptivelifo.ErrFull) {
			s.middleware.queued.Add(1)
		}
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		state, _ := s.states.Get().(*requestState)
		if state == nil {
			state = new(requestState)
		}
		state.begin(s, w, r, waited)
		returned := false
		defer func() {
			state.end(r, returned)
			if returned && reuse {
				s.states.Put(state)
			}
		}()
		next.ServeHTTP(state, r)
		returned = true
	})
}

func (r *requestState) begin(s *step, w http.ResponseWriter, request *http.Request, waited bool) {
	record := telemetry.RecordFrom(request.Context())
	*r = requestState{step: s, arrived: s.limiter.now(), record: record, tries: record.Tries, waited: waited}
	r.measured = request.ContentLength >= 0 && request.ContentLength <= smallBody
	r.ResponseWriter, r.Editor = w, r
	r.counted.Store(true)
}

// end counts the request out.
func (r *requestState) end(request *http.Request, returned bool) {
	l := r.step.limiter
	now := l.now()
	switch left := request.Context().Err() != nil; {
	case r.answered.Load():
		r.judge(now)
	case left:
		if r.tried() && r.record.OriginStatus == 0 {
			r.unanswered(now)
		}
		if r.waited {
			l.queue.Abandoned()
		}
	case returned:
		r.Begin(http.StatusOK)
	}
	r.release()
	l.check(now)
}

// judge notes an answer that says that the service is overloaded: 503 or 504 of an endpoint, or the time-out of one.
// The record has what the endpoint answered, also where a middleware has replaced it.
func (r *requestState) judge(now time.Duration) {
	switch l, status := r.step.limiter, r.record.OriginStatus; {
	case !r.tried():
	case status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout:
		l.failed.Add(1)
	case status == 0 && r.record.Code == telemetry.CodeTimeout && !r.record.Excused:
		l.failed.Add(1)
		r.unanswered(now)
	}
}

// tried reports whether the request has gone to an endpoint. Middlewares that come after this one, and services without
// an available endpoint, answer in no time.
func (r *requestState) tried() bool { return r.record.Tries > r.tries }

// unanswered notes how long an endpoint did not answer.
func (r *requestState) unanswered(now time.Duration) {
	if r.measured {
		r.step.limiter.unanswered(now - r.arrived)
	}
}

// streams reports whether a request is for a stream: an upgrade, a tunnel, a call of gRPC, or events.
func streams(r *http.Request) bool {
	return len(r.Header["Upgrade"]) > 0 || r.Method == http.MethodConnect || httpio.IsGRPC(r) ||
		len(r.Header["Accept"]) > 0 && strings.HasPrefix(r.Header["Accept"][0], events)
}

// events is the content type of server-sent events.
const events = "text/event-stream"

// EditHead notes the latency of an endpoint's answer. A stream of events does not count from here on.
func (r *requestState) EditHead(header http.Header, status int) {
	r.answered.Store(true)
	l := r.step.limiter
	switch {
	case status == 0 || status == http.StatusSwitchingProtocols || strings.HasPrefix(header.Get("Content-Type"), events):
		r.release()
	case r.measured && status < http.StatusInternalServerError && r.counted.Load() && r.tried() &&
		r.record.OriginStatus != 0 && r.record.OriginStatus < http.StatusInternalServerError:
		l.sample(l.now() - r.arrived)
	}
}

// release counts the request out, once.
func (r *requestState) release() {
	if r.counted.Swap(false) {
		r.step.limiter.release()
	}
}

// refuse answers a request that did not get a place.
func (s *step) refuse(w http.ResponseWriter, r *http.Request, err error) {
	reason := "the limit of requests in progress is reached, and none ended within queueTimeout"
	switch {
	case errors.Is(err, errLimit):
		reason = err.Error()
	case errors.Is(err, adaptivelifo.ErrFull):
		reason = "the limit of requests in progress is reached, and the queue is full"
	case errors.Is(err, adaptivelifo.ErrDropped):
		s.middleware.dropped.Add(1)
		reason = "the queue is overloaded, and newer requests go first"
	case !errors.Is(err, adaptivelifo.ErrTimeout):
		answer.Leave(w, r, s.middleware.name, "its turn")
		return
	}
	s.middleware.refused.Add(1)
	w.Header().Set("Retry-After", "1")
	telemetry.RecordFrom(r.Context()).Code = telemetry.CodeSaturated
	answer.Refuse(w, r, http.StatusServiceUnavailable, s.middleware.name, reason)
}
