package picker

import (
	"math/bits"
	"sync/atomic"
)

// maxCandidateWeight keeps sums of weights from overflow: a configured weight times what makes shares divide.
const maxCandidateWeight = maxWeight << 20

// seat is what a random strategy reads of a candidate.
type seat struct {
	inFlight *atomic.Int64
	latency  *Latency
	// weight is relative to the mean of all, and inverse is 1 / weight.
	weight, inverse float64
}

// load returns the requests in flight relative to the weight.
func (s *seat) load() float64 { return float64(s.inFlight.Load()) * s.inverse }

// seats are the candidates of the strategies that draw by weight and then compare.
//
// To compare is to lean: away from the one that was drawn first, towards one that was drawn after it. Requests in flight
// are few and whole, so that taking the lower load always would give light candidates far more than their weight: idle, as
// they mostly are, they would win against any heavy one, which has a request most of the time. So a request moves with a
// probability that is proportional to the difference, which keeps what a pair exchanges even as long as both carry what
// their weights say. Among equal weights this is the same as to take the lower load always, and the first when both are
// equal.
type seats struct {
	all    []seat
	urn    urn
	equal  bool
	random source
}

func newSeats(candidates []Candidate, random source) seats {
	weights, equal := relativeWeights(candidates)
	s := seats{all: make([]seat, len(candidates)), urn: newUrn(weights, equal), equal: equal, random: random}
	for i := range candidates {
		s.all[i] = seat{inFlight: candidates[i].InFlight, latency: candidates[i].Latency, weight: weights[i], inverse: 1 / weights[i]}
		if s.all[i].inFlight == nil {
			s.all[i].inFlight = new(atomic.Int64)
		}
		if s.all[i].latency == nil {
			s.all[i].latency = new(Latency)
		}
	}
	return s
}

// relativeWeights returns the weights relative to their mean, and whether all are equal.
func relativeWeights(candidates []Candidate) (weights []float64, equal bool) {
	weights, equal = make([]float64, len(candidates)), true
	total := 0.0
	for i := range candidates {
		weights[i] = float64(clampCandidate(candidates[i].Weight))
		total += weights[i]
		equal = equal && weights[i] == weights[0]
	}
	scale := float64(len(candidates)) / total
	for i := range weights {
		weights[i] *= scale
		if equal {
			weights[i] = 1
		}
	}
	return weights, equal
}

func clampCandidate(weight uint64) uint64 { return min(max(weight, 1), maxCandidateWeight) }

// one draws a seat by weight, and a chance from 0 to 1 that does not depend on it.
func (s *seats) one() (index int, chance float64) {
	index, rest := s.urn.at(s.random.next())
	return index, lowChance(rest)
}

// lowChance makes a number from 0 to 1 of the bits that urn.at does not look at.
func lowChance(rest uint64) float64 { return float64(uint32(rest)) * (1.0 / (1 << 32)) }

// pair draws two different seats, of which there are two at least, and a chance from 0 to 1.
func (s *seats) pair() (first, second int, chance float64) {
	first, rest := s.urn.at(s.random.next())
	if !s.equal {
		for range 4 {
			if second, rest = s.urn.at(s.random.next()); second != first {
				return first, second, lowChance(rest)
			}
		}
		rest = s.random.next()
	}
	// Any seat but the first, whatever its weight.
	place, rest := bits.Mul64(rest, s.urn.size-1)
	second = int(place) //nolint:gosec // less than the number of seats
	if second >= first {
		second++
	}
	return first, second, float64(rest>>32) * (1.0 / (1 << 32))
}

// leanPair returns the probability with which a request moves from one seat of a pair to the other, given how slow they
// are, in any unit. The second of a pair is never the first, so that a light one follows a heavy one more often than the
// other way round; what moves from the heavier to the lighter is less for that.
func (s *seats) leanPair(first, second int, firstLatency, secondLatency float64) float64 {
	probability := s.lean(first, second, firstLatency, secondLatency)
	if heavy, light := s.all[first].weight, s.all[second].weight; heavy > light {
		size := float64(s.urn.size)
		probability *= (size - heavy) / (size - light)
	}
	return probability
}

// lean returns the probability with which a request moves from the first seat to the second, which were drawn
// independently: by how much the first is worse off, in requests of the lighter and faster one. It may be below 0 or
// above 1.
func (s *seats) lean(first, second int, firstLatency, secondLatency float64) float64 {
	a, b := &s.all[first], &s.all[second]
	excess := (a.load()+1)*firstLatency - (b.load()+1)*secondLatency
	return excess / min(firstLatency, secondLatency) * min(a.weight, b.weight) * certain
}

// certain makes up for rounding, so that one request of difference between equals always counts.
const certain = 1 + 1e-9
