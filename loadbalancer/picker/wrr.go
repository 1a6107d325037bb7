package picker

// newRobin returns the picker of wrr.
func newRobin(candidates []Candidate, state *State) *robin {
	weights := make([]uint64, len(candidates))
	for i := range candidates {
		weights[i] = clampCandidate(candidates[i].Weight)
	}
	return &robin{order: newSequence(weights), state: state}
}

// robin takes turns in proportion to the weights.
type robin struct {
	order sequence
	state *State
}

// Pick returns the next index of the round.
func (r *robin) Pick(*Request) int { return r.order.at(r.state.Cursor.Add(1)) }
