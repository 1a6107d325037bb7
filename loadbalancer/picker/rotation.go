package picker

import (
	"math/bits"
	"math/rand/v2"
	"sync/atomic"
)

// RotationState is the position of a [Rotation]. It may outlive the Rotation, or be shared by several: a new one goes
// on where the old one stood. The zero value is ready.
type RotationState struct {
	// turn counts picks, detour those whose turn came to a choice that is down.
	turn, detour atomic.Uint64
}

// Seed moves to a random position, so that instances do not all begin with the same choice.
func (s *RotationState) Seed() {
	s.turn.Store(rand.Uint64())
	s.detour.Store(rand.Uint64())
}

// Rotation is a [RoundRobin] that passes over choices that are down.
type Rotation struct {
	robin   *RoundRobin
	weights []uint64
	up      func(index int) bool
	state   *RotationState
}

// NewRotation returns a rotation over the indexes of the weights. Weights are relative; 0 or less is never picked. up
// reports whether a choice may be picked; nil means that all may.
func NewRotation(weights []int, up func(index int) bool, state *RotationState) *Rotation {
	r := &Rotation{
		robin: ResumeRoundRobin(weights, &state.turn), weights: make([]uint64, len(weights)), up: up, state: state,
	}
	for i, weight := range weights {
		r.weights[i] = uint64(min(max(weight, 0), maxWeight)) //nolint:gosec // not negative
	}
	return r
}

// Next returns the next index, or -1 when there is none with a weight above 0 that is up. Any number of goroutines may
// call it; it takes no lock and allocates nothing.
func (r *Rotation) Next() int {
	index := r.robin.Next()
	if index < 0 || r.up == nil || r.up(index) {
		return index
	}
	return r.replace()
}

// Weighs reports whether there is a weight above 0.
func (r *Rotation) Weighs() bool {
	for _, weight := range r.weights {
		if weight > 0 {
			return true
		}
	}
	return false
}

// replace returns a replacement for a choice that is down, or -1. The other choices share its turns by weight.
func (r *Rotation) replace() int {
	sum := uint64(0)
	for i, weight := range r.weights {
		if weight > 0 && r.up(i) {
			sum += weight
		}
	}
	point, _ := bits.Mul64(r.state.detour.Add(1)*golden, sum)
	found := -1
	for i, weight := range r.weights {
		if weight == 0 || !r.up(i) {
			continue
		}
		// A choice may go down meanwhile: the last one takes the remainder.
		found = i
		if point < weight {
			break
		}
		point -= weight
	}
	return found
}
