package loadbalancer

import (
	"iter"
	"slices"
)

// Snapshot is who may answer the requests of a pool at one moment. It is immutable.
type Snapshot struct {
	members []*Member
	shares  []uint64
	// serving are the members with a share, which order refers to.
	serving []*Member
	order   sequence
}

// Members yields every member with its share relative to the others; a share of 0 means that it gets no requests, since
// its weight is 0 or since it is terminating while others serve.
func (s *Snapshot) Members() iter.Seq2[*Member, uint64] {
	return func(yield func(*Member, uint64) bool) {
		for i, member := range s.members {
			if !yield(member, s.shares[i]) {
				return
			}
		}
	}
}

// Len returns the number of members, whatever their share.
func (s *Snapshot) Len() int { return len(s.members) }

// Serving returns the number of members that get requests.
func (s *Snapshot) Serving() int { return len(s.serving) }

// newSnapshot divides each server's weight among its endpoints, so that a server's share does not grow with the number
// of its addresses.
func newSnapshot(servers []*server) *Snapshot {
	total := 0
	for _, server := range servers {
		total += len(server.members)
	}
	s := &Snapshot{members: make([]*Member, 0, total), shares: make([]uint64, 0, total)}
	terminating := !slices.ContainsFunc(servers, func(s *server) bool { return s.weight > 0 && s.usable(false) > 0 })
	scale := scaleOf(servers, terminating)
	for _, server := range servers {
		share := uint64(0)
		if count := server.usable(terminating); count > 0 && server.weight > 0 {
			share = max(server.weight*scale/uint64(count), 1)
		}
		s.members = append(s.members, server.members...)
		for i := range server.endpoints {
			if server.endpoints[i].Terminating && !terminating {
				s.shares = append(s.shares, 0)
				continue
			}
			s.shares = append(s.shares, share)
		}
	}
	s.serve()
	return s
}

// serve sets who gets requests, which usually is everybody.
func (s *Snapshot) serve() {
	s.serving = s.members
	weights := s.shares
	if slices.Contains(s.shares, 0) {
		s.serving, weights = nil, nil
		for i, share := range s.shares {
			if share > 0 {
				s.serving, weights = append(s.serving, s.members[i]), append(weights, share)
			}
		}
	}
	s.order = newSequence(weights)
}

// maxScale bounds what weights are multiplied with so that they divide by the sizes of the sets.
const maxScale = 1 << 20

// scaleOf returns the least common multiple of the sizes of the sets, or a large number when that gets out of hand:
// shares are then right to a millionth.
func scaleOf(servers []*server, terminating bool) uint64 {
	scale := uint64(1)
	for _, server := range servers {
		count := uint64(server.usable(terminating)) //nolint:gosec // a length
		if count == 0 || server.weight == 0 {
			continue
		}
		if scale = scale / gcd(scale, count) * count; scale > maxScale {
			return maxScale
		}
	}
	return scale
}
