package inflightreq

import (
	"net/http"
	"sync/atomic"

	"github.com/vulcand/oxy/v2/connlimit"

	"github.com/sluiceproxy/sluice/middleware/answer"
)

// step is an inFlightReq with the counts of one owner.
type step struct {
	limit    *InFlightReq
	counter  *connlimit.ConnLimiter
	inFlight atomic.Int64
}

// NoRetain implements httpio.NoRetainer.
func (*step) NoRetain() {}

// Status returns the number of requests in flight.
func (s *step) Status() (state string, levels map[string]int64) {
	return "", map[string]int64{"in_flight": s.inFlight.Load()}
}

// requestState carries next through the counter, which has a single handler. The writer passes unchanged.
type requestState struct {
	http.ResponseWriter

	next http.Handler
}

// Wrap returns a handler that calls next unless too many requests of the source are in flight.
func (s *step) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.limit.excluded.Contains(r) {
			next.ServeHTTP(w, r)
			return
		}
		p := s.limit.states.Get().(*requestState)
		p.ResponseWriter, p.next = w, next
		defer func() {
			p.ResponseWriter, p.next = nil, nil
			s.limit.states.Put(p)
		}()
		s.counter.ServeHTTP(p, r)
	})
}

// token returns the source of a request. It does not alias the request's memory.
func (s *step) token(r *http.Request) (string, int64, error) {
	key, _ := s.limit.source.Key(r) // requests without a source share the empty key
	return key.String(), 1, nil
}

// pass passes a counted request to its handler.
func (s *step) pass(w http.ResponseWriter, r *http.Request) {
	p := w.(*requestState)
	s.inFlight.Add(1)
	defer s.inFlight.Add(-1)
	p.next.ServeHTTP(p.ResponseWriter, r)
}

// ServeHTTP refuses a request that exceeds the limit.
func (s *step) ServeHTTP(w http.ResponseWriter, r *http.Request, _ error) {
	s.limit.refused.Add(1)
	answer.Refuse(w.(*requestState).ResponseWriter, r, s.limit.status, s.limit.name,
		"too many requests of the source are under way")
}
