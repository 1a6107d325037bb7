package picker

import "math/bits"

const (
	// leastScanned is the largest list of equal weights of which leastrequest looks at everybody.
	leastScanned = 16
	// leastDraws is how many candidates it looks at otherwise.
	leastDraws = 3
)

// leastRequest takes the candidate with the fewest requests in flight relative to its weight, and any of those that have
// equally few: the best of all in a small list of equal weights, else the best of several that are drawn by weight.
//
// Different weights are always drawn: to search for the lowest load would give light candidates more than their share.
type leastRequest struct{ seats seats }

// Pick returns the least busy one.
func (l *leastRequest) Pick(*Request) int {
	if !l.seats.equal {
		return l.drawn()
	}
	if len(l.seats.all) <= leastScanned {
		return l.scan()
	}
	return l.drawnOfEquals()
}

func (l *leastRequest) drawn() int {
	best, _ := l.seats.one()
	for range leastDraws - 1 {
		next, chance := l.seats.one()
		if chance < l.seats.lean(best, next, 1, 1) {
			best = next
		}
	}
	return best
}

// drawnOfEquals makes all of its draws of one random number, which has bits for three of a million candidates.
func (l *leastRequest) drawnOfEquals() int {
	place, rest := bits.Mul64(l.seats.random.next(), l.seats.urn.size)
	lowest := l.seats.all[place].inFlight.Load()
	for range leastDraws - 1 {
		var next uint64
		next, rest = bits.Mul64(rest, l.seats.urn.size)
		if load := l.seats.all[next].inFlight.Load(); load < lowest {
			place, lowest = next, load
		}
	}
	return int(place) //nolint:gosec // less than the number of seats
}

func (l *leastRequest) scan() int {
	var least [leastScanned]uint8
	lowest, count := int64(0), 0
	for i := range l.seats.all {
		switch load := l.seats.all[i].inFlight.Load(); {
		case count == 0 || load < lowest:
			lowest, count = load, 1
			least[0] = uint8(i) //nolint:gosec // less than leastScanned
		case load == lowest:
			least[count&(leastScanned-1)] = uint8(i) //nolint:gosec // as above
			count++
		}
	}
	if count == 1 {
		return int(least[0])
	}
	return int(least[l.seats.random.next()%uint64(count)]) //nolint:gosec // positive
}
