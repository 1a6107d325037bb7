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

// Open opens the session at the child whose turn it is, or at another one with a weight above 0 if that fails. The
// error is that of the first, or that there is none with a weight above 0.
func (w *Weighted) Open(opening *Opening) (Target, error) {
	first := w.turns.Next()
	if first < 0 {
		return Target{}, errNoWeight
	}
	target, err := w.children[first].Service.Open(opening)
	if err == nil {
		return target, nil
	}
	for i := range w.children {
		if i == first || w.children[i].Weight <= 0 {
			continue
		}
		if other, failed := w.children[i].Service.Open(opening); failed == nil {
			return other, nil
		}
	}
	return target, err
}
