package loadbalancer

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/sluiceproxy/sluice/loadbalancer/picker"
)

// Request is the input of Pool.Acquire. It belongs to the request state of forward, which uses it for one
// attempt after another.
type Request struct {
	picker.Request
	// Context ends a wait for a limit where HTTP is nil.
	Context context.Context
	// Tried are the members that have failed the request. They are not picked again, unless Again is set and
	// there is no other.
	Tried []*Member
	Again bool
	// Cookie is set by Acquire: the Set-Cookie field for the response, or empty.
	Cookie string
	// Counted is set by Acquire when the request counts against the limits of the pool. Result.Counted must
	// repeat it.
	Counted bool
}

// Refusal is the reason why no member was acquired.
type Refusal struct {
	// Reason is a clause for the log.
	Reason string
	// Saturated is set when there are endpoints, all of them at their limits.
	Saturated bool
	// Exhausted is set when there are endpoints, all of which the request has tried.
	Exhausted bool
}

// Error returns the reason.
func (r *Refusal) Error() string { return r.Reason }

const (
	// drawn is the number of picks of the strategy before the pool is searched for any member that can serve.
	drawn = 4
	// lightly is the number of requests in flight up to which an endpoint of the zone is used whatever the load
	// of others.
	lightly = 3
	// busier is the factor by which an endpoint of the zone may be busier than another one.
	busier = 2
)

// Acquire picks a member and counts the request in; Member.Done counts it out. When no member can serve, the error is
// a *Refusal. It allocates nothing and takes no lock, unless the limits of the pool are reached: then it may wait for
// a request to end, as Limits.Pending allows, and returns the error of r.HTTP's context, or else of r.Context, when
// that ends first. A retry never waits, since the previous attempt may hold the slot that it would wait for.
func (p *Pool) Acquire(r *Request) (*Member, error) {
	r.Cookie, r.Attempt, r.Counted = "", 0, false
	snapshot := p.snapshot.Load()
	if snapshot.simple && len(r.Tried) == 0 {
		if index := snapshot.picker.Pick(&r.Request); index >= 0 {
			member := snapshot.candidates[index].member
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

// Enter counts a request in that a member of the pool serves already, beyond all limits. Member.Done counts it out,
// with counted as Result.Counted.
func (p *Pool) Enter(m *Member) (counted bool) {
	if counted = p.snapshot.Load().counting; counted {
		m.active.Add(1)
		p.state.InFlight.Add(1)
	}
	m.upstream.begin()
	return counted
}

// choose picks a member and counts the request in; it returns nil when no member can serve.
func (s *Snapshot) choose(p *Pool, r *Request) *Member {
	named := false
	if s.cookies != nil {
		var member *Member
		if member, named = s.byCookie(p, r); member != nil {
			return member
		}
	}
	if s.balanced != nil {
		if member := s.balance(p, r); member != nil {
			if named {
				p.counters.Moved.Add(1)
			}
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
	if member != nil && s.cookies != nil && s.balanced == nil {
		r.Cookie = s.policies.Cookie.Set(member.sticky.id, r.HTTP)
		if named {
			p.counters.Moved.Add(1)
		}
	}
	return member
}

// pick tries the picks of the strategy first, and then any member that can serve.
func (s *Snapshot) pick(p *Pool, r *Request) *Member {
	if s.full(p) {
		return nil
	}
	var cold *Member
	for r.Attempt = 0; r.Attempt < drawn; r.Attempt++ {
		// When all members of the zone are in their slow start, others are tried too.
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
	start := rand.IntN(s.serving)
	for i := range s.serving {
		member := s.candidates[(start+i)%s.serving].member
		if !slices.Contains(r.Tried, member) && p.enter(s, member, r) {
			return member
		}
	}
	return nil
}

// draw returns the pick of the strategy, from this instance's zone first unless everywhere is set.
func (s *Snapshot) draw(p *Pool, r *Request, everywhere bool) *Member {
	if s.local == nil || everywhere {
		return s.member(s.picker.Pick(&r.Request))
	}
	near := s.member(s.local.Pick(&r.Request))
	load, tried := near.Endpoint().InFlight(), slices.Contains(r.Tried, near)
	if load <= lightly && !tried {
		return near
	}
	far := s.member(s.picker.Pick(&r.Request))
	busy := load > busier*(far.Endpoint().InFlight()+1)
	if busy {
		p.counters.Spilled.Add(1)
	}
	if busy || tried {
		return far
	}
	return near
}

func (s *Snapshot) member(index int) *Member {
	if index < 0 {
		return nil
	}
	return s.candidates[index].member
}

// refuse returns the reason why no member can serve.
func (s *Snapshot) refuse(r *Request) *Refusal {
	switch {
	case s.serving == 0:
		return &Refusal{Reason: s.reason()}
	case len(r.Tried) > 0:
		return &Refusal{Reason: "no other endpoint may answer", Exhausted: true}
	}
	return &Refusal{Reason: "all " + strconv.Itoa(s.serving) + " endpoints are at their limits", Saturated: true}
}
