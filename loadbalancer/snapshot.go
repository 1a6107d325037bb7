package loadbalancer

import (
	"fmt"
	"iter"

	"github.com/sluiceproxy/sluice/loadbalancer/picker"
)

// Snapshot is the immutable state of a pool that requests pick from.
type Snapshot struct {
	// candidates are all members, the first of which serve.
	candidates candidates
	serving    int
	// picker picks among those that serve, local among the first of them, those in this instance's zone; nil where zones
	// are ignored.
	picker, local picker.Picker
	// simple is set when the strategy alone decides.
	simple bool
	// counting is set when requests in flight are counted for the pool and its members.
	counting bool
	// warming is set when some members are in their slow start.
	warming bool
	// timed is set when the time to the response head must be measured.
	timed   bool
	up      bool
	present bool
	// withheld is set when no member serves, and a drain by hand holds one.
	withheld bool
	policies *Policies
	cookies  cookies
	// balanced picks by the values of balanced cookies; nil for others.
	balanced picker.Picker
}

// State is the state of a member in its pool.
type State uint8

// The states of a member.
const (
	// Serving members get requests.
	Serving State = iota
	// Draining members get no new clients, because they are terminating or have weight 0.
	Draining
	// Unhealthy members failed their active check.
	Unhealthy
	// Ejected members failed real requests (outlier detection).
	Ejected
)

// String returns the state as the API and the logs show it.
func (s State) String() string { return [...]string{"serving", "draining", "unhealthy", "ejected"}[s] }

// Members yields every member with its share relative to the others. A share of 0 means that the member gets
// only requests of its sticky clients; States has the reason.
func (s *Snapshot) Members() iter.Seq2[*Member, uint64] {
	return func(yield func(*Member, uint64) bool) {
		for i := range s.candidates {
			if !yield(s.candidates[i].member, s.candidates[i].share) {
				return
			}
		}
	}
}

// States yields the state of each member, in the order of Members. A member that serves in spite of its state,
// for lack of others, has a share.
func (s *Snapshot) States() iter.Seq[State] {
	return func(yield func(State) bool) {
		for i := range s.candidates {
			if !yield(s.candidates[i].state) {
				return
			}
		}
	}
}

// Len returns the number of members, whatever their share.
func (s *Snapshot) Len() int { return len(s.candidates) }

// Serving returns the number of members that get requests.
func (s *Snapshot) Serving() int { return s.serving }

// reason describes why no member serves.
func (s *Snapshot) reason() string {
	var counts [4]int
	for i := range s.candidates {
		counts[s.candidates[i].state]++
	}
	text := fmt.Sprintf("no endpoint may answer: %d known, none serving", len(s.candidates))
	for _, state := range []State{Draining, Unhealthy, Ejected} {
		if counts[state] > 0 {
			text += fmt.Sprintf(", %d %s", counts[state], state)
		}
	}
	return text
}
