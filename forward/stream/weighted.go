package stream

import (
	"context"
	"slices"

	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/loadbalancer/picker"
	"github.com/sluiceproxy/sluice/telemetry"
)

// WeightedOptions are the options of a weighted service.
type WeightedOptions struct {
	// Name is the service's qualified name.
	Name string
	// Children share the connections by their weights.
	Children []Child
	// HealthCheck passes over children that are down (healthCheck); without it all count as up.
	HealthCheck bool
	// State is the state that outlives the service. Required.
	State *State
}

// Child is a service to which a weighted one gives connections.
type Child struct {
	// Name is the child's name as its parent lists it.
	Name string
	// Weight is the share relative to the other children; 0 or less means none.
	Weight int
	// Service takes the connections.
	Service Service
}

// State is what outlives a rebuilt service: the position in the rotation. Old and new ones may share it.
type State struct{ rotation picker.RotationState }

// NewState returns the state of a new service. The rotation starts at random, so that instances do not all begin with
// the same child.
func NewState() *State {
	s := new(State)
	s.rotation.Seed()
	return s
}

// Weighted is a [Service] that hands each connection to one of several, smoothly by weight.
type Weighted struct {
	options WeightedOptions
	turns   *picker.Rotation
}

// NewWeighted returns a weighted service.
func NewWeighted(options WeightedOptions) *Weighted {
	options.Children = slices.Clone(options.Children)
	w := &Weighted{options: options}
	weights := make([]int, len(options.Children))
	for i, child := range options.Children {
		weights[i] = child.Weight
	}
	var up func(int) bool
	if options.HealthCheck {
		up = w.up
	}
	w.turns = picker.NewRotation(weights, up, &options.State.rotation)
	return w
}

func (w *Weighted) up(child int) bool { return w.options.Children[child].Service.Up() }

// Up reports whether a child with a weight above 0 is up.
func (w *Weighted) Up() bool {
	for i := range w.options.Children {
		if w.options.Children[i].Weight > 0 && w.up(i) {
			return true
		}
	}
	return false
}

// Serve hands the connection on. It resets it when there is no child with a weight above 0, or with health checks none
// that is up.
func (w *Weighted) Serve(ctx context.Context, client *Client, result *Result, done func()) {
	if child := w.turns.Next(); child >= 0 {
		w.options.Children[child].Service.Serve(ctx, client, result, done)
		return
	}
	_ = httpio.Reset(client.Conn)
	reason := "no service of the weighted service is up"
	if !w.options.HealthCheck || !w.turns.Weighs() {
		reason = "all services of the weighted service have weight 0"
	}
	*result = Result{Service: w.options.Name, Code: telemetry.CodeNoEndpoint, Reason: reason}
	done()
}
