package picker

// twoChoices draws two candidates by weight and takes the one with fewer requests in flight relative to its weight, the
// first when both have as many.
type twoChoices struct{ seats seats }

// Pick returns the less busy one of two.
func (p *twoChoices) Pick(*Request) int {
	first, second, chance := p.seats.pair()
	if p.seats.equal {
		if p.seats.all[second].inFlight.Load() < p.seats.all[first].inFlight.Load() {
			first = second
		}
		return first
	}
	if chance < p.seats.leanPair(first, second, 1, 1) {
		first = second
	}
	return first
}
