package loadbalancer

import (
	"slices"
	"time"

	"github.com/sluiceproxy/sluice/loadbalancer/picker"
)

// maxScale bounds what weights are multiplied with so that they divide by the sizes of the sets.
const maxScale = 1 << 20

// seat is a member while a snapshot is made.
type seat struct {
	member      *Member
	server      int
	weighs      bool
	terminating bool
}

func (s *seat) healthy() bool { return !s.member.down && !s.member.ejected }

func (s *seat) state() State {
	switch {
	case s.member.down:
		return Unhealthy
	case s.member.ejected:
		return Ejected
	case s.terminating || !s.weighs:
		return Draining
	}
	return Serving
}

// publish makes a snapshot of the pool as it is now.
func (p *Pool) publish(now time.Duration, zone string) {
	seats := p.seats()
	chosen, panics := p.choose(seats)
	if panics && !p.panics {
		p.counters.Panics.Add(1)
	}
	p.panics = panics
	s := &Snapshot{
		members: make([]*Member, 0, len(seats)), shares: make([]uint64, 0, len(seats)), states: make([]State, 0, len(seats)),
		slowStart: p.spec.SlowStart, outlier: p.spec.Outlier, limits: p.spec.Limits, cookie: p.spec.Cookie,
		counting: p.spec.Limits.set() || p.spec.Strategy.CountsPool(),
		timed:    p.spec.Strategy.UsesLatency(),
		up:       slices.ContainsFunc(seats, func(s seat) bool { return s.weighs && s.healthy() }),
	}
	s.divide(p.servers, seats, chosen)
	p.strategise(s, now, zone)
	if p.spec.Sticks {
		s.cookies = newCookies(s)
	}
	s.simple = s.cookies == nil && s.local == nil && !s.warming && !s.counting
	p.snapshot.Store(s)
	p.queue.call()
}

func (p *Pool) seats() []seat {
	total := 0
	for _, server := range p.servers {
		total += len(server.members)
	}
	seats := make([]seat, 0, total)
	for i, server := range p.servers {
		for j, member := range server.members {
			seats = append(seats, seat{
				member: member, server: i, weighs: server.weight > 0, terminating: server.endpoints[j].Terminating,
			})
		}
	}
	return seats
}

// choose returns a function that tells who serves. Members in good health do. Where they are fewer than the panic threshold
// allows, health is not asked for; where there are none, those that are terminating help out, and then those whose answers failed,
// since a failing answer is no worse than none: of these too those that stay come first.
func (p *Pool) choose(seats []seat) (serves func(*seat) bool, panics bool) {
	staying, good, leaving, answering, remaining := 0, 0, 0, 0, 0
	for i := range seats {
		seat := &seats[i]
		switch {
		case !seat.weighs:
		case seat.terminating:
			leaving += number(seat.healthy())
			remaining += number(!seat.member.down)
		default:
			staying++
			good += number(seat.healthy())
			answering += number(!seat.member.down)
		}
	}
	switch {
	case staying > 0 && good*100 < p.spec.Panic*staying:
		return func(s *seat) bool { return s.weighs && (!s.terminating || good == 0 && s.healthy()) }, true
	case good > 0:
		return func(s *seat) bool { return s.weighs && !s.terminating && s.healthy() }, false
	case leaving > 0:
		return func(s *seat) bool { return s.weighs && s.terminating && s.healthy() }, false
	case answering > 0:
		return func(s *seat) bool { return s.weighs && !s.terminating && !s.member.down }, false
	case remaining > 0:
		return func(s *seat) bool { return s.weighs && s.terminating && !s.member.down }, false
	}
	return func(*seat) bool { return false }, false
}

func number(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// divide divides each server's weight among those of its endpoints that serve, so that a server's share does not grow with the
// number of its addresses.
func (s *Snapshot) divide(servers []*server, seats []seat, serves func(*seat) bool) {
	counts := make([]uint64, len(servers))
	for i := range seats {
		if serves(&seats[i]) {
			counts[seats[i].server]++
		}
	}
	s.serving = make([]*Member, 0, total(counts))
	scale := scaleOf(counts)
	for i := range seats {
		seat, share := &seats[i], uint64(0)
		if serves(seat) {
			share = max(servers[seat.server].weight*scale/counts[seat.server], 1)
			s.serving = append(s.serving, seat.member)
		}
		s.members, s.shares, s.states = append(s.members, seat.member), append(s.shares, share), append(s.states, seat.state())
	}
}

func total(counts []uint64) uint64 {
	sum := uint64(0)
	for _, count := range counts {
		sum += count
	}
	return sum
}

// scaleOf returns the least common multiple of the numbers of endpoints, or a large number when that gets out of hand: shares are
// then right to a millionth.
func scaleOf(counts []uint64) uint64 {
	scale := uint64(1)
	for _, count := range counts {
		if count == 0 {
			continue
		}
		if scale = scale / gcd(scale, count) * count; scale > maxScale {
			return maxScale
		}
	}
	return scale
}

// strategise makes the pickers of those that serve.
func (p *Pool) strategise(s *Snapshot, now time.Duration, zone string) {
	candidates := make([]picker.Candidate, 0, len(s.serving))
	near := nearby(s.serving, p.spec.Zone, zone)
	var nearCandidates []picker.Candidate
	settled := false
	for i, share := range s.shares {
		if share == 0 {
			continue
		}
		member := s.members[i]
		candidate := p.candidate(member, share)
		candidates = append(candidates, candidate)
		if near != nil && near(member) {
			s.near, nearCandidates = append(s.near, member), append(nearCandidates, candidate)
		}
		if p.warms(member, now) {
			s.warming = true
		} else {
			settled = true
		}
	}
	s.warming = s.warming && settled
	s.picker = picker.New(p.spec.Strategy, candidates, &p.state)
	if len(s.near) > 0 && len(s.near) < len(s.serving) {
		state := &p.nearState
		if p.spec.Strategy.CountsPool() {
			state = &p.state // What is in flight is counted there.
		}
		s.local = picker.New(p.spec.Strategy, nearCandidates, state)
	}
}

func (p *Pool) candidate(member *Member, share uint64) picker.Candidate {
	candidate := picker.Candidate{Weight: share, ID: member.name, InFlight: &member.upstream.endpoint.inFlight}
	if p.spec.Strategy.UsesLatency() {
		candidate.Latency = member.latency.Load()
		if candidate.Latency == nil {
			candidate.Latency = new(picker.Latency)
			member.latency.Store(candidate.Latency)
		}
	}
	return candidate
}
