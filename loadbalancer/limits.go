package loadbalancer

import (
	"errors"
	"strconv"
	"sync/atomic"

	"github.com/sluiceproxy/sluice/httpio/codel"
)

// enter counts a request in, unless a limit is reached.
func (p *Pool) enter(s *Snapshot, m *Member, r *Request) bool {
	if s.counting && !p.count(&s.policies.Limits, m) {
		return false
	}
	r.Counted = s.counting
	m.upstream.begin()
	return true
}

// full reports whether the limit of the whole pool is reached.
func (s *Snapshot) full(p *Pool) bool {
	return s.counting && s.policies.Limits.PerPool > 0 && p.state.InFlight.Load() >= int64(s.policies.Limits.PerPool)
}

// count counts a request for its member and the pool, unless a limit is reached.
func (p *Pool) count(limits *Limits, m *Member) bool {
	if !raise(&m.active, limits.PerEndpoint) {
		return false
	}
	if raise(&p.state.InFlight, limits.PerPool) {
		return true
	}
	m.active.Add(-1)
	p.pending.Wake() // The head of the queue may have found the member at its limit meanwhile.
	return false
}

// raise increments a counter up to a limit; 0 is no limit.
func raise(counter *atomic.Int64, limit int) bool {
	for limit > 0 {
		old := counter.Load()
		if old >= int64(limit) {
			return false
		}
		if counter.CompareAndSwap(old, old+1) {
			return true
		}
	}
	counter.Add(1)
	return true
}

// leave counts a request out.
func (p *Pool) leave(m *Member) {
	p.state.InFlight.Add(-1)
	m.active.Add(-1)
	p.pending.Wake()
}

// acquireLimited acquires from a pool with limits. Only retries may overtake waiting requests, because the
// previous attempt may hold the slot that the queue waits for.
func (p *Pool) acquireLimited(r *Request) (*Member, error) {
	s := p.snapshot.Load()
	if len(r.Tried) > 0 || p.pending.Len() == 0 || s.policies.Limits.Pending == 0 {
		if member := s.choose(p, r); member != nil {
			return member, nil
		}
		refusal := s.refuse(r)
		if !refusal.Saturated {
			return nil, refusal
		}
		if s.policies.Limits.Pending == 0 {
			p.counters.Saturated.Add(1)
			return nil, refusal
		}
	}
	return p.wait(r, &s.policies.Limits)
}

// wait queues the request and acquires when it is its turn.
func (p *Pool) wait(r *Request, limits *Limits) (*Member, error) {
	ctx := r.Context
	if r.HTTP != nil {
		ctx = r.HTTP.Context()
	}
	var member *Member
	var refusal *Refusal
	err := p.pending.Wait(ctx, codel.Options{Limit: limits.Pending, Longest: limits.PendingTime}, func() bool {
		s := p.snapshot.Load()
		if member = s.choose(p, r); member != nil {
			return true
		}
		refusal = s.refuse(r)
		return !refusal.Saturated
	})
	if !errors.Is(err, codel.ErrFull) {
		p.counters.Waited.Add(1)
	}
	switch {
	case member != nil:
		return member, nil
	case err == nil:
		return nil, refusal
	case errors.Is(err, codel.ErrFull):
		refusal = &Refusal{Reason: strconv.Itoa(limits.Pending) + " requests wait for an endpoint already"}
	case errors.Is(err, codel.ErrTimeout):
		refusal = &Refusal{Reason: "no endpoint became free within " + limits.PendingTime.String()}
	case errors.Is(err, codel.ErrDropped):
		p.counters.Dropped.Add(1)
		refusal = &Refusal{
			Reason: "the queue has been standing for " + limits.PendingTime.String() + ", and newer requests go first",
		}
	default:
		return nil, err
	}
	p.counters.Saturated.Add(1)
	refusal.Saturated = true
	return nil, refusal
}
