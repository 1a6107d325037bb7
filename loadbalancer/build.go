package loadbalancer

import (
	"slices"
	"time"

	"github.com/sluiceproxy/sluice/loadbalancer/picker"
)

// maxScale bounds the factor that makes weights divisible by the sizes of the sets.
const maxScale = 1 << 20

// candidate is a member while a snapshot is built.
type candidate struct {
	member      *Member
	server      int
	weighs      bool
	terminating bool
}

func (s *candidate) healthy() bool { return !s.member.down && !s.member.ejected }

func (s *candidate) state() State {
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

// publish builds and stores a snapshot of the current state.
func (p *Pool) publish(now time.Duration, zone string) {
	candidates := p.candidates()
	chosen, panics := p.choose(candidates)
	if panics && !p.panics {
		p.counters.Panics.Add(1)
	}
	p.panics = panics
	s := &Snapshot{
		members: make([]*Member, 0, len(candidates)), shares: make([]uint64, 0, len(candidates)), states: make([]State, 0,
			len(candidates)),
		slowStart: p.spec.SlowStart, outlier: p.spec.Outlier, limits: p.spec.Limits, cookie: p.spec.Cookie,
		counting: p.spec.Limits.set() || p.spec.Strategy.CountsPool(),
		timed:    p.spec.Strategy.UsesLatency(),
		up:       slices.ContainsFunc(candidates, func(s candidate) bool { return s.weighs && s.healthy() }),
	}
	s.divide(p.servers, candidates, chosen)
	p.buildPickers(s, now, zone)
	if p.spec.Sticks {
		s.cookies = newCookies(s)
	}
	s.simple = s.cookies == nil && s.local == nil && !s.warming && !s.counting
	p.snapshot.Store(s)
	p.pending.call()
}

func (p *Pool) candidates() []candidate {
	total := 0
	for _, server := range p.servers {
		total += len(server.members)
	}
	candidates := make([]candidate, 0, total)
	for i, server := range p.servers {
		for j, member := range server.members {
			candidates = append(candidates, candidate{
				member: member, server: i, weighs: server.weight > 0, terminating: server.endpoints[j].Terminating,
			})
		}
	}
	return candidates
}

// choose returns a function that selects the members that serve. Healthy members do. Below the panic threshold
// health is ignored. Without healthy members, terminating ones serve, and then ejected ones, since a failing
// response is no worse than none; of these, members that stay come first.
func (p *Pool) choose(candidates []candidate) (serves func(*candidate) bool, panics bool) {
	staying, good, leaving, answering, remaining := 0, 0, 0, 0, 0
	for i := range candidates {
		candidate := &candidates[i]
		switch {
		case !candidate.weighs:
		case candidate.terminating:
			leaving += number(candidate.healthy())
			remaining += number(!candidate.member.down)
		default:
			staying++
			good += number(candidate.healthy())
			answering += number(!candidate.member.down)
		}
	}
	switch {
	case staying > 0 && good*100 < p.spec.Panic*staying:
		return func(s *candidate) bool { return s.weighs && (!s.terminating || good == 0 && s.healthy()) }, true
	case good > 0:
		return func(s *candidate) bool { return s.weighs && !s.terminating && s.healthy() }, false
	case leaving > 0:
		return func(s *candidate) bool { return s.weighs && s.terminating && s.healthy() }, false
	case answering > 0:
		return func(s *candidate) bool { return s.weighs && !s.terminating && !s.member.down }, false
	case remaining > 0:
		return func(s *candidate) bool { return s.weighs && s.terminating && !s.member.down }, false
	}
	return func(*candidate) bool { return false }, false
}

func number(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// divide distributes each server's weight over those of its endpoints that serve, so that a server's share does
// not grow with the number of its addresses.
func (s *Snapshot) divide(servers []*server, candidates []candidate, serves func(*candidate) bool) {
	counts := make([]uint64, len(servers))
	for i := range candidates {
		if serves(&candidates[i]) {
			counts[candidates[i].server]++
		}
	}
	s.serving = make([]*Member, 0, total(counts))
	scale := scaleOf(counts)
	for i := range candidates {
		candidate, share := &candidates[i], uint64(0)
		if serves(candidate) {
			share = max(servers[candidate.server].weight*scale/counts[candidate.server], 1)
			s.serving = append(s.serving, candidate.member)
		}
		s.members, s.shares, s.states = append(s.members, candidate.member), append(s.shares, share),
			append(s.states, candidate.state())
	}
}

func total(counts []uint64) uint64 {
	sum := uint64(0)
	for _, count := range counts {
		sum += count
	}
	return sum
}

// scaleOf returns the least common multiple of the numbers of endpoints, bounded by maxScale: shares are then
// accurate to a millionth.
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

// buildPickers creates the pickers over the members that serve.
func (p *Pool) buildPickers(s *Snapshot, now time.Duration, zone string) {
	pickerCandidates := make([]picker.Candidate, 0, len(s.serving))
	near := nearby(s.serving, p.spec.Zone, zone)
	var nearCandidates []picker.Candidate
	settled := false
	for i, share := range s.shares {
		if share == 0 {
			continue
		}
		member := s.members[i]
		pickerCandidate := p.pickerCandidate(member, share)
		pickerCandidates = append(pickerCandidates, pickerCandidate)
		if near != nil && near(member) {
			s.near, nearCandidates = append(s.near, member), append(nearCandidates, pickerCandidate)
		}
		if p.warms(member, now) {
			s.warming = true
		} else {
			settled = true
		}
	}
	s.warming = s.warming && settled
	s.picker = picker.New(p.spec.Strategy, pickerCandidates, &p.state)
	if len(s.near) > 0 && len(s.near) < len(s.serving) {
		state := &p.nearState
		if p.spec.Strategy.CountsPool() {
			state = &p.state // The requests in flight are counted there.
		}
		s.local = picker.New(p.spec.Strategy, nearCandidates, state)
	}
}

func (p *Pool) pickerCandidate(member *Member, share uint64) picker.Candidate {
	pickerCandidate := picker.Candidate{Weight: share, ID: member.name, InFlight: &member.upstream.endpoint.inFlight}
	if p.spec.Strategy.UsesLatency() {
		pickerCandidate.Latency = member.latency.Load()
		if pickerCandidate.Latency == nil {
			pickerCandidate.Latency = new(picker.Latency)
			member.latency.Store(pickerCandidate.Latency)
		}
	}
	return pickerCandidate
}
