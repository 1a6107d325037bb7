package loadbalancer

import (
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/sluiceproxy/sluice/loadbalancer/picker"
)

// Request is what a pool needs to know of a request. It belongs to the exchange, which may use it for one try after the
// other.
type Request struct {
	picker.Request
	// Tried are the members that have failed the request. They are not picked again, unless Again is set and there is
	// nobody else.
	Tried []*Member
	Again bool
	// Cookie is set by Acquire: a Set-Cookie field that the response shall have, or empty.
	Cookie string
	// Counted is set by Acquire: the request counts against the limits of the pool until it is done, which Result.Counted
	// must say.
	Counted bool
}

// Refusal is why nobody may answer a request.
type Refusal struct {
	// Reason is a clause for the log.
	Reason string
	// Saturated says that there are endpoints, all of them at their limits.
	Saturated bool
	// Exhausted says that there are endpoints, all of which the request has tried.
	Exhausted bool
}

// Error returns the reason.
func (r *Refusal) Error() string { return r.Reason }

const (
	// drawn is how many picks of the strategy are looked at before the pool is searched for anybody at all.
	drawn = 4
	// lightly is how many requests an endpoint has under way before the load of its zone is looked at.
	lightly = 3
	// busier is how many times as busy as another endpoint one of the same zone may be.
	busier = 2
)

// Acquire picks a member and counts the request in; Member.Done counts it out. When nobody may answer the error is a
// *Refusal. It allocates nothing and takes no lock, unless the pool's limits are reached: then it may wait for a
// request to end, as Limits.Pending says, as long as the context of r.HTTP lasts, whose error it returns then. A further
// try never waits, since the one before may still hold the place that it would wait for.
func (p *Pool) Acquire(r *Request) (*Member, error) {
	r.Cookie, r.Attempt, r.Counted = "", 0, false
	snapshot := p.snapshot.Load()
	if snapshot.simple && len(r.Tried) == 0 {
		if index := snapshot.picker.Pick(&r.Request); index >= 0 {
			member := snapshot.serving[index]
			member.upstream.begin()
			return member, nil
		}
		return nil, snapshot.refuse(r)
	}
	if snapshot.counting {
		return p.acquireLimited(r)
	}
	if member := snapshot.choose(p, r); member != nil {
		return member, nil
	}
	return nil, snapshot.refuse(r)
}

// choose picks and counts in, nil when nobody may answer.
func (s *Snapshot) choose(p *Pool, r *Request) *Member {
	named := false
	if s.cookies != nil {
		var member *Member
		if member, named = s.stuck(p, r); member != nil {
			return member
		}
	}
	member := s.pick(p, r)
	if member == nil && r.Again && len(r.Tried) > 0 {
		tried := r.Tried
		r.Tried = nil
		member = s.pick(p, r)
		r.Tried = tried
	}
	if member != nil && s.cookies != nil {
		r.Cookie = s.cookie.Set(member.stickyID)
		if named {
			p.counters.Moved.Add(1)
		}
	}
	return member
}

// pick asks the strategy for somebody who can take the request, and takes anybody who can when it names nobody.
func (s *Snapshot) pick(p *Pool, r *Request) *Member {
	if s.full(p) {
		return nil
	}
	var cold *Member
	for r.Attempt = 0; r.Attempt < drawn; r.Attempt++ {
		// Where all of the zone are cold, others help out.
		member := s.draw(p, r, cold != nil && r.Attempt >= drawn/2)
		if member == nil {
			return nil
		}
		if slices.Contains(r.Tried, member) {
			continue
		}
		if s.warming && !s.warm(member, r) {
			if cold == nil {
				cold = member
			}
			continue
		}
		if p.enter(s, member, r) {
			return member
		}
	}
	if cold != nil && p.enter(s, cold, r) {
		return cold
	}
	start := rand.IntN(len(s.serving))
	for i := range s.serving {
		member := s.serving[(start+i)%len(s.serving)]
		if !slices.Contains(r.Tried, member) && p.enter(s, member, r) {
			return member
		}
	}
	return nil
}

// draw lets the strategy choose, in this instance's zone first unless everywhere is asked for.
func (s *Snapshot) draw(p *Pool, r *Request, everywhere bool) *Member {
	if s.local == nil || everywhere {
		return member(s.serving, s.picker.Pick(&r.Request))
	}
	near := member(s.near, s.local.Pick(&r.Request))
	load, tried := near.Endpoint().InFlight(), slices.Contains(r.Tried, near)
	if load <= lightly && !tried {
		return near
	}
	far := member(s.serving, s.picker.Pick(&r.Request))
	busy := load > busier*(far.Endpoint().InFlight()+1)
	if busy {
		p.counters.Spilled.Add(1)
	}
	if busy || tried {
		return far
	}
	return near
}

func member(of []*Member, index int) *Member {
	if index < 0 {
		return nil
	}
	return of[index]
}

// refuse says why nobody may answer.
func (s *Snapshot) refuse(r *Request) *Refusal {
	switch {
	case len(s.serving) == 0:
		return &Refusal{Reason: s.reason()}
	case len(r.Tried) > 0:
		return &Refusal{Reason: "no other endpoint may answer", Exhausted: true}
	}
	return &Refusal{Reason: "all " + strconv.Itoa(len(s.serving)) + " endpoints are at their limits", Saturated: true}
}
