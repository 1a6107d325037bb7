package picker

// newRobin returns the picker of wrr.
func newRobin(candidates Candidates, state *State) *robin {
	weights := make([]uint64, candidates.Len())
	for i := range weights {
		weights[i] = clampCandidate(candidates.Weight(i))
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
