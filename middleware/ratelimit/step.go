package ratelimit

import (
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/httpio/bucket"
	"github.com/sluiceproxy/sluice/middleware/answer"
)

// lazy is a table that is made for the first request, so that owners without traffic cost nothing.
type lazy struct{ atomic.Pointer[bucket.Table] }

func (l *lazy) table(r bucket.Rate) *bucket.Table {
	if t := l.Load(); t != nil {
		return t
	}
	l.CompareAndSwap(nil, bucket.NewTable(r))
	return l.Load()
}

// step is a rateLimit with the buckets of one owner.
type step struct {
	limit   *RateLimit
	buckets lazy
}

// NoRetain says that no part of a request outlives its handler here.
func (*step) NoRetain() {}

// Status returns how many sources have a bucket in this process, where one whose bucket is full again is evicted
// some time later. The state is "redis_lost" while Redis is known to be lost, and empty otherwise.
func (s *step) Status() (state string, levels map[string]int64) {
	levels = map[string]int64{"sources": 0}
	if t := s.buckets.Load(); t != nil {
		levels["sources"] = t.Sources(s.limit.clock())
	}
	if s.limit.remote != nil && s.limit.remote.Lost() {
		state = "redis_lost"
	}
	return state, levels
}

// Wrap returns a handler that calls next when it is the request's turn. Without a limit that is next itself.
func (s *step) Wrap(next http.Handler) http.Handler {
	if !s.limit.limited {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.limit.excluded.Contains(r) || s.pass(w, r) {
			next.ServeHTTP(w, r)
		}
	})
}

// pass reports whether the request may go on. If not, it has been answered, or the client has left.
func (s *step) pass(w http.ResponseWriter, r *http.Request) bool {
	wait, allowed := s.take(r)
	switch {
	case !allowed && r.Context().Err() != nil:
		answer.Leave(w, r, s.limit.name, "the request's turn")
		return false
	case !allowed:
		s.limit.refuse(w, r, wait)
		return false
	case wait <= 0:
		return true
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		answer.Leave(w, r, s.limit.name, "the request's turn")
		return false
	}
}

// take takes a token for the request, from Redis if there is one that answers.
func (s *step) take(r *http.Request) (wait time.Duration, allowed bool) {
	m := s.limit
	key, _ := m.source.Key(r) // Requests without a source share the zero key.
	hash := key.Hash(m.key.Load())
	stripe := &m.counts[hash%stripes]
	if m.remote != nil {
		var err error
		if wait, allowed, err = m.remote.Take(r.Context(), key.String()); err != nil {
			if r.Context().Err() != nil {
				return 0, false
			}
			stripe.local.Add(1)
		} else {
			s.count(hash, wait, allowed)
			return wait, allowed
		}
	}
	v := s.buckets.table(m.rate).Take(hash, m.clock())
	if v.Evicted {
		stripe.evicted.Add(1)
	}
	s.count(hash, time.Duration(v.Wait), v.Allowed)
	return time.Duration(v.Wait), v.Allowed
}

func (s *step) count(hash uint64, wait time.Duration, allowed bool) {
	switch stripe := &s.limit.counts[hash%stripes]; {
	case !allowed:
		stripe.refused.Add(1)
	case wait > 0:
		stripe.delayed.Add(1)
	}
}

// refuse answers with the configured status, and says after which time the request would have had its turn.
func (m *RateLimit) refuse(w http.ResponseWriter, r *http.Request, wait time.Duration) {
	seconds := int64((wait + time.Second - 1) / time.Second)
	w.Header().Set("Retry-After", strconv.FormatInt(max(seconds, 1), 10))
	w.Header().Set("X-Retry-In", wait.String())
	answer.Refuse(w, r, m.status, m.name, "the source sends more than the limit")
}
