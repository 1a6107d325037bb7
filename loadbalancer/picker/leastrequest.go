package picker

import "math/bits"

const (
	// leastScanned is the largest list of equal weights that leastrequest scans completely.
	leastScanned = 16
	// leastDraws is how many candidates of a larger list it looks at.
	leastDraws = 3
)

// leastRequest takes the candidate with the fewest requests in flight, and any of those that have equally few:
// the best of all in a small list, else the best of several that are drawn.
//
// With different weights it is the better one of two, as p2c: to look at more would give light candidates,
// which are idle most of the time, more than their share.
type leastRequest struct{ candidates weightedCandidates }

// Pick returns the least busy one.
func (l *leastRequest) Pick(*Request) int {
	switch {
	case !l.candidates.equal:
		return l.candidates.better()
	case len(l.candidates.inFlight) <= leastScanned:
		return l.scan()
	}
	// One random number has bits for three of a million candidates.
	best, rest := bits.Mul64(l.candidates.random.next(), l.candidates.aliasTable.size)
	lowest := l.candidates.inFlight[best].Load()
	for range leastDraws - 1 {
		var next uint64
		next, rest = bits.Mul64(rest, l.candidates.aliasTable.size)
		if load := l.candidates.inFlight[next].Load(); load < lowest {
			best, lowest = next, load
		}
	}
	return int(best) //nolint:gosec // less than the number of candidates
}

func (l *leastRequest) scan() int {
	var least [leastScanned]uint8
	lowest, count := l.candidates.inFlight[0].Load(), uint64(1)
	for i := 1; i < len(l.candidates.inFlight); i++ {
		switch load := l.candidates.inFlight[i].Load(); {
		case load < lowest:
			lowest, count = load, 1
			least[0] = uint8(i) //nolint:gosec // less than leastScanned
		case load == lowest:
			least[count%leastScanned] = uint8(i) //nolint:gosec // as above
			count++
		}
	}
	if count == 1 {
		return int(least[0])
	}
	chosen, _ := bits.Mul64(l.candidates.random.next(), count)
	return int(least[chosen%leastScanned])
}
