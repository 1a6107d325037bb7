package picker

import (
	"math/bits"
	"sync/atomic"
)

// maxCandidateWeight keeps sums of weights from overflow: a configured weight times what makes shares divide.
const maxCandidateWeight = maxWeight << 20

// weightedCandidates are the candidates of the strategies that draw by weight and then compare.
//
// To compare is to lean: away from the one that was drawn first, towards one that was drawn after it. Requests
// in flight are few and whole, so that taking the lower load always would give light candidates far more than
// their weight: idle, as they mostly are, they would win against any heavy one, which has a request most of the
// time. So a request moves with a probability that is proportional to the difference, which keeps what a pair
// exchanges even as long as both carry what their weights say. Among equal weights this is the same as to take
// the lower load always, and the first when both are equal.
type weightedCandidates struct {
	// Fields of candidates are in separate lists, so that a pick reads little memory.
	inFlight []*atomic.Int64
	// latency is nil without newTimedCandidates, scales where all weights are equal.
	latency    []*Latency
	scales     []scale
	aliasTable aliasTable
	equal      bool
	random     source
}

// scale is a weight relative to the mean of all, and its inverse.
type scale struct{ weight, inverse float32 }

func newWeightedCandidates(candidates Candidates, random source) weightedCandidates {
	weights, equal := relativeWeights(candidates)
	s := weightedCandidates{
		inFlight:   make([]*atomic.Int64, len(weights)),
		aliasTable: newAliasTable(weights, equal), equal: equal, random: random,
	}
	for i := range s.inFlight {
		candidate := candidates.At(i)
		s.inFlight[i] = candidate.inFlight()
	}
	if equal {
		return s
	}
	s.scales = make([]scale, len(weights))
	for i, weight := range weights {
		s.scales[i] = scale{weight: float32(weight), inverse: float32(1 / weight)}
	}
	return s
}

// newTimedCandidates are the candidates of strategies that use latencies.
func newTimedCandidates(candidates Candidates, random source) weightedCandidates {
	s := newWeightedCandidates(candidates, random)
	s.latency = make([]*Latency, len(s.inFlight))
	for i := range s.latency {
		if s.latency[i] = candidates.At(i).Latency; s.latency[i] == nil {
			s.latency[i] = new(Latency)
		}
	}
	return s
}

// inFlight returns the counter of a candidate; one without a counter gets one that stays 0.
func (c *Candidate) inFlight() *atomic.Int64 {
	if c.InFlight == nil {
		return new(atomic.Int64)
	}
	return c.InFlight
}

// relativeWeights returns the weights relative to their mean, and whether all are equal.
func relativeWeights(candidates Candidates) (weights []float64, equal bool) {
	weights, equal = make([]float64, candidates.Len()), true
	total := 0.0
	for i := range weights {
		weights[i] = float64(clampCandidate(candidates.Weight(i)))
		total += weights[i]
		equal = equal && weights[i] == weights[0]
	}
	scale := float64(len(weights)) / total
	for i := range weights {
		weights[i] *= scale
		if equal {
			weights[i] = 1
		}
	}
	return weights, equal
}

func clampCandidate(weight uint64) uint64 { return min(max(weight, 1), maxCandidateWeight) }

// lowChance makes a number from 0 to 1 of the bits that aliasTable.at does not look at.
func lowChance(rest uint64) float64 { return float64(uint32(rest)) * (1.0 / (1 << 32)) }

// pair draws two different candidates, of which there are two at least, and a chance from 0 to 1.
func (s *weightedCandidates) pair() (first, second int, chance float64) {
	first, rest := s.aliasTable.at(s.random.next())
	if !s.equal {
		for range 4 {
			if second, rest = s.aliasTable.at(s.random.next()); second != first {
				return first, second, lowChance(rest)
			}
		}
		rest = s.random.next()
	}
	// Any candidate but the first, whatever its weight.
	place, rest := bits.Mul64(rest, s.aliasTable.size-1)
	second = int(place) //nolint:gosec // less than the number of candidates
	if second >= first {
		second++
	}
	return first, second, float64(rest>>32) * (1.0 / (1 << 32))
}

// load returns the requests in flight relative to the weight.
func (s *weightedCandidates) load(index int) float64 {
	return float64(s.inFlight[index].Load()) * float64(s.scales[index].inverse)
}

// better returns the candidate of a pair that is less busy.
func (s *weightedCandidates) better() int {
	first, second, chance := s.pair()
	if s.equal {
		if s.inFlight[second].Load() < s.inFlight[first].Load() {
			first = second
		}
		return first
	}
	if excess := s.load(first) - s.load(second); chance < excess*s.exchange(first, second) {
		first = second
	}
	return first
}

// faster returns the candidate of a pair with the earlier expected response: whose latency times one more than its
// load is lower.
func (s *weightedCandidates) faster(first, second int, chance float64, a, b speed) int {
	if a.latency == 0 || b.latency == 0 {
		a.latency, b.latency = 1, 1 // A new member counts as fast as the one that it is compared with.
	}
	if s.equal {
		one, two := float64(s.inFlight[first].Load()), float64(s.inFlight[second].Load())
		if chance*min(a.latency, b.latency) < excess(a, b, one, two) {
			first = second
		}
		return first
	}
	if chance*min(a.latency, b.latency) < excess(a, b, s.load(first), s.load(second))*s.exchange(first, second) {
		first = second
	}
	return first
}

// excess returns by how much later the first one's answer is to be expected, under the loads. Failures count
// relative to the slower of the two: an endpoint that refuses at once is never ahead of one that works, however
// slow that is.
func excess(first, second speed, firstLoad, secondLoad float64) float64 {
	a, b := (firstLoad+1)*first.latency, (secondLoad+1)*second.latency
	return a - b + (first.failing-second.failing)*max(a, b)
}

// exchange returns what the difference of two loads, or scores, is multiplied with to get the probability that
// a request moves from the first candidate of a pair to the second: the lighter weight, which makes requests of it.
//
// The second of a pair is never the first, so that a light one follows a heavy one more often than the other
// way round; less moves from the heavier to the lighter for that.
func (s *weightedCandidates) exchange(first, second int) float64 {
	total, a, b := float32(s.aliasTable.size), s.scales[first].weight, s.scales[second].weight
	followed := min(1, max(total-a, 0)/max(total-b, total*1e-6))
	return float64(min(a, b)*followed) * (1 + 1e-6) // One request of difference counts as one in spite of rounding.
}
