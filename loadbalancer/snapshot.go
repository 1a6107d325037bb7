package loadbalancer

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/sluiceproxy/sluice/loadbalancer/outlier"
	"github.com/sluiceproxy/sluice/loadbalancer/picker"
	"github.com/sluiceproxy/sluice/loadbalancer/sticky"
)

// Snapshot is who may answer the requests of a pool at one moment. It is immutable.
type Snapshot struct {
	members []*Member
	shares  []uint64
	states  []State
	// serving are the members with a share, which picker refers to.
	serving []*Member
	picker  picker.Picker
	// near are those of this instance's zone, which local refers to; nil where zones don't count.
	near  []*Member
	local picker.Picker
	// simple says that nothing but the strategy decides.
	simple bool
	// counting says that requests under way are counted for the pool and for its members.
	counting bool
	// warming says that some members are in their slow start.
	warming   bool
	slowStart time.Duration
	// timed says that somebody wants to know how long answers take.
	timed   bool
	up      bool
	outlier outlier.Policy
	limits  Limits
	cookie  sticky.Cookie
	cookies cookies
}

// State is how a member stands.
type State uint8

// The states of a member.
const (
	// Serving members get requests.
	Serving State = iota
	// Draining members get no new clients, since they are terminating or have no weight.
	Draining
	// Unhealthy members failed their active check.
	Unhealthy
	// Ejected members failed real requests.
	Ejected
)

// String returns the state in a word.
func (s State) String() string { return [...]string{"serving", "draining", "unhealthy", "ejected"}[s] }

// Members yields every member with its share relative to the others; a share of 0 means that it gets no requests but
// those of its sticky clients, for the reason that State tells.
func (s *Snapshot) Members() iter.Seq2[*Member, uint64] {
	return func(yield func(*Member, uint64) bool) {
		for i, member := range s.members {
			if !yield(member, s.shares[i]) {
				return
			}
		}
	}
}

// States yields how each member stands, in the order of Members. Members that help out in spite of it have a share all the same.
func (s *Snapshot) States() iter.Seq[State] { return slices.Values(s.states) }

// Len returns the number of members, whatever their share.
func (s *Snapshot) Len() int { return len(s.members) }

// Serving returns the number of members that get requests.
func (s *Snapshot) Serving() int { return len(s.serving) }

// reason says why nobody serves.
func (s *Snapshot) reason() string {
	var counts [4]int
	for _, state := range s.states {
		counts[state]++
	}
	text := fmt.Sprintf("no endpoint may answer: %d known, none serving", len(s.members))
	for _, state := range []State{Draining, Unhealthy, Ejected} {
		if counts[state] > 0 {
			text += fmt.Sprintf(", %d %s", counts[state], state)
		}
	}
	return text
}
