package loadbalancer

import (
	"slices"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer/picker"
)

// maxScale bounds the factor that makes weights divisible by the sizes of the sets.
const maxScale = 1 << 20

// candidate is a member in a snapshot: its part of the new requests, 0 for none, and its state.
type candidate struct {
	member *Member
	share  uint64
	state  State
}

// candidates are the members of a snapshot: those that serve come first, and of these those in this instance's zone,
// where zones matter.
type candidates []candidate

// Len returns the number of candidates.
func (c candidates) Len() int { return len(c) }

// Weight returns the share of a candidate.
func (c candidates) Weight(index int) uint64 { return c[index].share }

// At returns what else a picker needs of a candidate.
func (c candidates) At(index int) picker.Candidate {
	member := c[index].member
	return picker.Candidate{
		ID: member.name, InFlight: &member.upstream.endpoint.inFlight, Latency: member.latency.Load(),
	}
}

// split moves the candidates that are selected to the front, and returns their number. Both parts keep their order.
func (c candidates) split(selects func(*Member) bool) int {
	selected, rest := 0, make(candidates, 0, len(c))
	for _, one := range c {
		if selects(one.member) {
			c[selected] = one
			selected++
		} else {
			rest = append(rest, one)
		}
	}
	copy(c[selected:], rest)
	return selected
}

// publish builds and stores a snapshot of the current state.
func (p *Pool) publish(now time.Duration, zone string) {
	serves, up, panics := p.choose()
	if panics && !p.panics {
		p.counters.Panics.Add(1)
	}
	p.panics = panics
	s := &Snapshot{
		policies: &p.policies.Policies,
		counting: p.policies.Limits.set() || p.policies.Strategy.CountsPool(),
		timed:    p.policies.Strategy.UsesLatency(),
		up:       up,
		present:  slices.ContainsFunc(p.servers, func(s *server) bool { return s.set == nil || !s.set.deleted }),
	}
	s.candidates, s.serving = divide(p.servers, serves)
	s.withheld = s.serving == 0 && s.candidates.anyHeld()
	p.buildPickers(s, now, zone)
	if p.policies.Sticks {
		if p.policies.Cookie.Balanced() {
			s.cookies = cookies{}
			s.balanced = picker.New(picker.Strategy{Name: dynamic.StrategyHRW}, s.candidates[:s.serving], nil)
		} else {
			s.cookies = newCookies(s)
		}
	}
	s.simple = s.cookies == nil && s.local == nil && !s.warming && !s.counting
	p.snapshot.Store(s)
	p.pending.call()
}

// choose returns a function that selects the members that serve, and whether any healthy member has weight. Healthy
// members serve. Below the panic threshold health is ignored. Without healthy members, terminating ones serve, and then
// ejected ones, since a failing response is no worse than none; of these, members that stay come first.
func (p *Pool) choose() (serves func(*Member) bool, up, panics bool) {
	staying, good, leaving, answering, remaining := 0, 0, 0, 0, 0
	for _, server := range p.servers {
		for _, member := range server.members {
			switch {
			case !member.weighs:
			case member.terminating:
				leaving += number(member.healthy())
				remaining += number(!member.down)
			default:
				staying++
				good += number(member.healthy())
				answering += number(!member.down)
			}
		}
	}
	up = good+leaving > 0
	switch {
	case staying > 0 && good*100 < p.policies.Panic*staying:
		return func(m *Member) bool { return m.weighs && (!m.terminating || good == 0 && m.healthy()) }, up, true
	case good > 0:
		return func(m *Member) bool { return m.stays() && m.healthy() }, up, false
	case leaving > 0:
		return func(m *Member) bool { return m.weighs && m.terminating && m.healthy() }, up, false
	case answering > 0:
		return func(m *Member) bool { return m.stays() && !m.down }, up, false
	case remaining > 0:
		return func(m *Member) bool { return m.weighs && m.terminating && !m.down }, up, false
	}
	return func(*Member) bool { return false }, up, false
}

func number(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// divide distributes each server's weight over those of its members that serve, so that a server's share does not grow
// with the number of its addresses. It returns all members, and how many of them serve.
func divide(servers []*server, serves func(*Member) bool) (all candidates, serving int) {
	counts, total := make([]uint64, len(servers)), 0
	for i, server := range servers {
		total += len(server.members)
		for _, member := range server.members {
			if serves(member) {
				counts[i]++
			}
		}
	}
	all = make(candidates, 0, total)
	scale := scaleOf(counts)
	for i, server := range servers {
		if counts[i] == 0 {
			continue
		}
		share := max(server.weight*scale/counts[i], 1)
		for _, member := range server.members {
			if serves(member) {
				all = append(all, candidate{member: member, share: share, state: member.state()})
			}
		}
	}
	if serving = len(all); serving == total {
		return all, serving
	}
	for _, server := range servers {
		for _, member := range server.members {
			if !serves(member) {
				all = append(all, candidate{member: member, state: member.state()})
			}
		}
	}
	return all, serving
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
	serving := s.candidates[:s.serving]
	warming := 0
	for i := range serving {
		member := serving[i].member
		warming += number(p.warms(member, now))
		if s.timed && member.latency.Load() == nil {
			member.latency.Store(new(picker.Latency))
		}
	}
	s.warming = warming > 0 && warming < len(serving)
	near := 0
	if local := nearby(serving, p.policies.Zone, zone); local != nil {
		near = serving.split(local)
	}
	s.picker = picker.New(p.policies.Strategy, serving, &p.state)
	if near > 0 && near < len(serving) {
		state := &p.nearState
		if p.policies.Strategy.CountsPool() {
			state = &p.state // The requests in flight are counted there.
		}
		s.local = picker.New(p.policies.Strategy, serving[:near], state)
	}
}
