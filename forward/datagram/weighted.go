package datagram

import (
	"errors"
	"slices"

	"github.com/sluiceproxy/sluice/loadbalancer/picker"
)

// Child is one service of a [Weighted].
type Child struct {
	// Service opens the sessions.
	Service Service
	// Weight is the share relative to the other children; 0 or less is none.
	Weight int
}

// errNoWeight is the error of a weighted service that cannot choose.
var errNoWeight = errors.New("all services of the weighted service have weight 0")

// State is what outlives a weighted service: the position in its rotation. Old and new services may share it.
type State struct{ rotation picker.RotationState }

// NewState returns the state of a new service. The rotation starts at random, so that instances do not all begin with
// the same child.
func NewState() *State {
	s := new(State)
	s.rotation.Seed()
	return s
}

// Weighted is a service that divides sessions among others, smoothly by their weights.
type Weighted struct {
	children []Child
	turns    *picker.Rotation
}

// NewWeighted returns a weighted service. Its rotation goes on where that of the last service with the same state has
// stood.
func NewWeighted(children []Child, state *State) *Weighted {
	children = slices.Clone(children)
	weights := make([]int, len(children))
	for i := range children {
		weights[i] = children[i].Weight
	}
	return &Weighted{children: children, turns: picker.NewRotation(weights, nil, &state.rotation)}
}

// Open opens the session at the child whose turn it is. The error is the child's, or that there is none with a weight
// above 0.
func (w *Weighted) Open(opening *Opening) (Target, error) {
	child := w.turns.Next()
	if child < 0 {
		return Target{}, errNoWeight
	}
	return w.children[child].Service.Open(opening)
}
