package gateway

import (
	"reflect"
	"slices"
	"sync"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/provider/kubernetes/gateway/status"
)

// Statuses are the statuses of all objects of this controller. Its methods may be called by any goroutine.
type Statuses struct {
	mu      sync.Mutex
	changed chan struct{}
	desired map[status.Key]*status.Desired
	// fresh are those that have changed or gone since the last Take.
	fresh    map[status.Key]struct{}
	activity activity

	// What follows belongs to the translation. Bases are the statuses of owners of listeners without the numbers of
	// routes; stale are the owners whose status is to be made again.
	bases map[owner]*ownerBase
	stale map[owner]struct{}
	// attached is the number of routes of each listener.
	attached map[listenerKey]int32
}

// ownerBase is the status of an owner of listeners, and those of the listeners, without the numbers of their routes.
type ownerBase struct {
	desired   status.Desired
	listeners []gatewayv1.ListenerStatus
}

func newStatuses() *Statuses {
	return &Statuses{
		changed: make(chan struct{}, 1), desired: map[status.Key]*status.Desired{}, fresh: map[status.Key]struct{}{},
		bases: map[owner]*ownerBase{}, stale: map[owner]struct{}{},
		attached: map[listenerKey]int32{},
	}
}

// Changed returns the channel that holds a value when statuses have changed since the last Take.
func (s *Statuses) Changed() <-chan struct{} { return s.changed }

// Take returns the statuses that have changed since the last call, in no order, and the keys of those that are gone.
// The statuses must not be changed.
func (s *Statuses) Take() (changed []*status.Desired, gone []status.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.fresh {
		if desired := s.desired[key]; desired != nil {
			changed = append(changed, desired)
		} else {
			gone = append(gone, key)
		}
	}
	s.fresh = map[status.Key]struct{}{}
	return changed, gone
}

// put sets a status.
func (s *Statuses) put(desired *status.Desired) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before := s.desired[desired.Key]; before != nil && reflect.DeepEqual(before, desired) {
		return
	}
	s.desired[desired.Key] = desired
	s.note(desired.Key)
}

// note notes that a status has changed or gone. The caller holds mu.
func (s *Statuses) note(key status.Key) {
	s.fresh[key] = struct{}{}
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// remove forgets the status of an object.
func (s *Statuses) remove(key status.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.desired[key] != nil {
		delete(s.desired, key)
		s.note(key)
	}
}

// has reports whether an object has a status.
func (s *Statuses) has(key status.Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.desired[key] != nil
}

// base sets the status of an owner of listeners; nil forgets it.
func (s *Statuses) base(of owner, base *ownerBase) {
	if base == nil {
		delete(s.bases, of)
		delete(s.stale, of)
		s.remove(status.Key{Kind: status.Kind(of.kind), NamespacedName: of.NamespacedName})
		return
	}
	s.bases[of] = base
	s.stale[of] = struct{}{}
}

// attach changes the number of routes of a listener.
func (s *Statuses) attach(to listenerKey, change int32) {
	if s.attached[to] += change; s.attached[to] == 0 {
		delete(s.attached, to)
	}
	if s.bases[to.owner] != nil {
		s.stale[to.owner] = struct{}{}
	}
}

// settle makes the statuses of owners whose listeners, or their numbers of routes, have changed, once it is known what
// is active.
func (s *Statuses) settle() {
	if !s.known() {
		return
	}
	for of := range s.stale {
		base := s.bases[of]
		desired := base.desired
		listeners := slices.Clone(base.listeners)
		for i := range listeners {
			listeners[i].AttachedRoutes = s.attached[listenerKey{of, string(listeners[i].Name)}]
		}
		if desired.Gateway != nil {
			made := *desired.Gateway
			made.Listeners = listeners
			desired.Gateway = &made
		} else {
			made := *desired.ListenerSet
			made.Listeners = entriesOf(listeners)
			desired.ListenerSet = &made
		}
		s.put(&desired)
	}
	s.stale = map[owner]struct{}{}
}

// entriesOf returns the statuses of listeners as a ListenerSet has them.
func entriesOf(listeners []gatewayv1.ListenerStatus) []gatewayv1.ListenerEntryStatus {
	entries := make([]gatewayv1.ListenerEntryStatus, len(listeners))
	for i, one := range listeners {
		entries[i] = gatewayv1.ListenerEntryStatus(one)
	}
	return entries
}
