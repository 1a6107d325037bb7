package service

import (
	"math/rand/v2"
	"net/http"
	"sync/atomic"

	"github.com/sluiceproxy/sluice/telemetry"
)

// Child is a service that another one hands requests to.
type Child struct {
	// Name is the child's name as its parent lists it. Sticky cookies and hashes are made of it.
	Name string
	// Handler answers.
	Handler http.Handler
	// Weight is the share relative to the other children; 0 or less means none.
	Weight int
	// Up tells whether anybody behind the child could answer now; nil means always. It takes no lock and allocates nothing.
	Up func() bool
}

func (c *Child) up() bool { return c.Up == nil || c.Up() }

// anyUp tells whether a child that may get requests is up.
func anyUp(children []Child) bool {
	for i := range children {
		if children[i].Weight > 0 && children[i].up() {
			return true
		}
	}
	return false
}

// State is what a service keeps when its handler is built anew: whose turn it is, and what is under way. It may be shared by
// the handlers of one service, old and new.
type State struct {
	// turn counts requests, detour those whose turn came to a child that is down.
	turn, detour atomic.Uint64
	// sampled counts requests that could be mirrored, mirrors those to mirrors that are under way.
	sampled atomic.Uint64
	mirrors atomic.Int64
}

// NewState returns the state of a new service. Turns begin anywhere, so that many instances do not start with the same child
// together.
func NewState() *State {
	s := &State{}
	s.turn.Store(rand.Uint64())
	s.detour.Store(rand.Uint64())
	return s
}

// refuse answers 503 in the name of a service of services that nobody answers for.
func refuse(w http.ResponseWriter, r *http.Request, name, reason string) {
	record := telemetry.RecordFrom(r.Context())
	record.Service, record.Reason, record.Status = name, reason, http.StatusServiceUnavailable
	http.Error(w, http.StatusText(http.StatusServiceUnavailable), http.StatusServiceUnavailable)
}
