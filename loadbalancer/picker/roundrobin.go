package picker

import (
	"math/rand/v2"
	"sync/atomic"
)

// RoundRobin is smooth weighted round robin over indexes: weights 5, 1, 1 give a b a a a c a, not a a a a a b c.
type RoundRobin struct {
	order  sequence
	cursor *atomic.Uint64
}

// NewRoundRobin returns a round robin over the indexes of the weights, at a random position, so that many
// instances do not begin with the same index together. Weights are relative; 0 or less is never picked.
func NewRoundRobin(weights []int) *RoundRobin {
	var cursor atomic.Uint64
	cursor.Store(rand.Uint64())
	return ResumeRoundRobin(weights, &cursor)
}

// ResumeRoundRobin is NewRoundRobin with a cursor of the caller's, which may outlive the round robin or be shared by
// several: a new list goes on where the old one stood.
func ResumeRoundRobin(weights []int, cursor *atomic.Uint64) *RoundRobin {
	clamped := make([]uint64, len(weights))
	for i, weight := range weights {
		clamped[i] = uint64(min(max(weight, 0), maxWeight)) //nolint:gosec // not negative
	}
	return &RoundRobin{order: newSequence(clamped), cursor: cursor}
}

// Next returns the next index, or -1 when there is none with a weight above 0. Any number of goroutines may call it.
func (r *RoundRobin) Next() int { return r.order.at(r.cursor.Add(1)) }
