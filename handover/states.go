package handover

import (
	"errors"
	"fmt"
)

// stateReceiver puts states together that come in parts.
type stateReceiver struct {
	// states are those that are complete, by their kinds.
	states map[string]State
	// total is the number of bytes so far.
	total int
	// current is the state whose last part has not come; nil before its first.
	current *State
}

// add takes the next part.
func (r *stateReceiver) add(part *statePart) error {
	if r.current == nil {
		r.current = &State{Kind: part.Kind, Version: part.Version}
	}
	if r.current.Kind != part.Kind || r.current.Version != part.Version {
		return fmt.Errorf("a part of the state %s is missing", r.current.Kind)
	}
	if r.total += len(part.Part); r.total > maxStateBytes {
		return fmt.Errorf("the state has more than %d bytes", maxStateBytes)
	}
	r.current.Data = append(r.current.Data, part.Part...)
	if part.Last {
		r.states[r.current.Kind] = *r.current
		r.current = nil
	}
	return nil
}

// end is called after the last part.
func (r *stateReceiver) end() error {
	if r.current != nil {
		return errors.New("the end of the state " + r.current.Kind + " is missing")
	}
	return nil
}
