package service

import (
	"net/http"
	"sync/atomic"

	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/loadbalancer/picker"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Child is a service to which another one sends requests.
type Child struct {
	// Name is the child's name as its parent lists it. Sticky cookies and hashes are derived from it.
	Name string
	// Handler serves the requests.
	Handler http.Handler
	// Weight is the share relative to the other children; 0 or less means none.
	Weight int
	// Up reports whether an endpoint behind the child is available; nil means always. It takes no lock and does
	// not allocate.
	Up func() bool
	// Present reports whether the source of the child's endpoints still declares it, with endpoints or without; nil
	// means always. It takes no lock and does not allocate.
	Present func() bool
}

func (c *Child) up() bool { return c.Up == nil || c.Up() }

// anyUp reports whether a child with a weight above 0 is up.
func anyUp(children []Child) bool {
	for i := range children {
		if children[i].Weight > 0 && children[i].up() {
			return true
		}
	}
	return false
}

// State is what outlives a rebuilt handler of a service: the position in the rotation and the mirrored requests
// in flight. Old and new handlers of one service may share it.
type State struct {
	rotation picker.RotationState
	// sampled counts requests that could be mirrored, mirrors the mirrored ones in flight.
	sampled atomic.Uint64
	mirrors atomic.Int64
}

// NewState returns the state of a new service. The rotation starts at random, so that instances do not all
// begin with the same child.
func NewState() *State {
	s := &State{}
	s.rotation.Seed()
	return s
}

// refuse answers 503 for a service of services without an available child.
func refuse(w http.ResponseWriter, r *http.Request, name, reason string) {
	record := telemetry.RecordFrom(r.Context())
	record.Service, record.Reason = name, reason
	record.Status = httpio.Error(w, r, http.StatusServiceUnavailable, http.StatusText(http.StatusServiceUnavailable)+"\n")
}
