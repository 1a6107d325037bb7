package picker

import (
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

// Candidates is a list of those that may take requests. Its owner keeps it; pickers refer to it by index.
type Candidates interface {
	// Len returns the number of candidates.
	Len() int
	// Weight returns a candidate's share of the requests relative to the others', at least 1.
	Weight(index int) uint64
	// At returns what else is known of a candidate.
	At(index int) Candidate
}

// Candidate is what a picker reads of one member of the list, beside its weight.
type Candidate struct {
	// ID is the same in every process and at every start, scheme://address; strategies that hash agree by it.
	ID string
	// InFlight counts the requests in flight of the candidate. The picker only reads it; nil means none.
	InFlight *atomic.Int64
	// Latency is how fast the candidate answered so far. It is nil unless Strategy.UsesLatency.
	Latency *Latency
}

// State is what survives a new list of candidates. The zero value is ready; NewState starts at a random position.
type State struct {
	// Cursor is the position of a round robin, which a new list takes up where the old one left off.
	Cursor atomic.Uint64
	// InFlight counts the requests of the whole list that are not answered yet. The owner of the State maintains it,
	// only when Strategy.CountsPool.
	InFlight atomic.Int64
}

// NewState returns a State at a random position, so that many instances do not begin with the same candidate together.
func NewState() *State {
	s := &State{}
	s.Cursor.Store(rand.Uint64())
	return s
}

// Request is what a pick may depend on.
type Request struct {
	// Now is the instant of the pick since an epoch that all requests and samples of a list share.
	Now time.Duration
	// HTTP is the request; strategies that hash read their key from it. It may be nil, which hashes the client.
	HTTP *http.Request
	// Client is the client's address without its port, empty when unknown.
	Client string
	// Attempt is how many answers to this request the caller has refused. Strategies that hash give the next in line,
	// others pick again.
	Attempt int
}

// Picker picks from the candidates that it was made for.
type Picker interface {
	// Pick returns the index of a candidate, or -1 when there are none. Any number of goroutines may call it; it takes no
	// lock and allocates nothing.
	Pick(r *Request) int
}

// New returns the Picker of a strategy over the candidates, which must not be changed afterwards. A nil state is a new
// one.
func New(s Strategy, candidates Candidates, state *State) Picker {
	return newPicker(s, candidates, state, source{})
}

func newPicker(s Strategy, candidates Candidates, state *State, random source) Picker {
	if state == nil {
		state = NewState()
	}
	switch candidates.Len() {
	case 0:
		return emptyPicker{}
	case 1:
		return singlePicker{}
	}
	switch s.Name {
	case dynamic.StrategyP2C:
		return &twoChoices{newWeightedCandidates(candidates, random)}
	case dynamic.StrategyLeastRequest:
		return &leastRequest{newWeightedCandidates(candidates, random)}
	case dynamic.StrategyPeakEWMA:
		return &peakEWMA{newTimedCandidates(candidates, random)}
	case dynamic.StrategyLeastTime:
		return &leastTime{newTimedCandidates(candidates, random)}
	case dynamic.StrategyHRW:
		return newRendezvous(candidates)
	case dynamic.StrategyHash:
		return newHashing(s.Hash, candidates, state, random)
	}
	return newRobin(candidates, state)
}

// emptyPicker is the picker of an empty list.
type emptyPicker struct{}

// Pick returns -1.
func (emptyPicker) Pick(*Request) int { return -1 }

// singlePicker is the picker of a list of one, whatever the strategy.
type singlePicker struct{}

// Pick returns the only index.
func (singlePicker) Pick(*Request) int { return 0 }
