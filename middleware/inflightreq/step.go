package inflightreq

import (
	"net/http"
	"sync/atomic"

	"github.com/vulcand/oxy/v2/connlimit"

	"github.com/sluiceproxy/sluice/middleware/answer"
)

// step is an inFlightReq with the counts of one owner, which all its handlers share.
type step struct {
	limit    *InFlightReq
	counter  *connlimit.ConnLimiter
	inFlight atomic.Int64
}

// NoRetain says that no part of a request outlives its handler here.
func (*step) NoRetain() {}

// Standing returns how many requests are under way.
func (s *step) Standing() (state string, levels map[string]int64) {
	return "", map[string]int64{"in_flight": s.inFlight.Load()}
}

// passage leads a request through the counter, which knows one handler, to the handler that the request is meant for.
// Nothing else gets to see it: the handler writes to the writer that the step was given.
type passage struct {
	http.ResponseWriter

	next http.Handler
}

// Wrap returns a handler that calls next unless too many requests of the source are under way.
func (s *step) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := s.limit.passages.Get().(*passage)
		p.ResponseWriter, p.next = w, next
		defer func() {
			p.ResponseWriter, p.next = nil, nil
			s.limit.passages.Put(p)
		}()
		s.counter.ServeHTTP(p, r)
	})
}

// token returns the source of a request. It keeps no part of the request.
func (s *step) token(r *http.Request) (string, int64, error) {
	key, _ := s.limit.source.Key(r) // Requests without a source share the empty key.
	return key.String(), 1, nil
}

// pass hands on a request that has been counted in.
func (s *step) pass(w http.ResponseWriter, r *http.Request) {
	p := w.(*passage)
	s.inFlight.Add(1)
	defer s.inFlight.Add(-1)
	p.next.ServeHTTP(p.ResponseWriter, r)
}

// ServeHTTP refuses a request that the counter did not take.
func (s *step) ServeHTTP(w http.ResponseWriter, r *http.Request, _ error) {
	s.limit.refused.Add(1)
	answer.Refuse(w.(*passage).ResponseWriter, r, http.StatusTooManyRequests, s.limit.name,
		"too many requests of the source are under way")
}
