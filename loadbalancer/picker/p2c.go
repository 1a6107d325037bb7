package picker

// twoChoices draws two candidates by weight and takes the one with fewer requests in flight relative to its weight, the
// first when both have as many.
type twoChoices struct{ candidates weightedCandidates }

// Pick returns the less busy one of two.
func (p *twoChoices) Pick(*Request) int { return p.candidates.better() }
