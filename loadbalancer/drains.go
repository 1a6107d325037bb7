package loadbalancer

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// MaxDrains is how many drains a Registry holds at most.
const MaxDrains = 10_000

var (
	// ErrNotBalanced is the error of a drain that selects no endpoint and no service with endpoints.
	ErrNotBalanced = errors.New("no service has such endpoints")
	// ErrTooManyDrains is the error of one more drain than MaxDrains.
	ErrTooManyDrains = fmt.Errorf("there are %d drains already", MaxDrains)
)

// LastEndpointError is the error of a drain that would leave services without an endpoint that gets requests.
type LastEndpointError struct {
	// Pools are the names of their pools, sorted.
	Pools []string
}

// Error names the first few services.
func (e *LastEndpointError) Error() string {
	const most = 5
	names := make([]string, 0, most)
	for _, pool := range e.Pools[:min(most, len(e.Pools))] {
		protocol, service := SplitPoolName(pool)
		if protocol != ProtocolHTTP {
			service += " (" + protocol + ")"
		}
		names = append(names, service)
	}
	text := "no endpoint would be left to serve " + strings.Join(names, ", ")
	if more := len(e.Pools) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// DrainSelector selects members of pools.
type DrainSelector struct {
	// Protocol is ProtocolHTTP, ProtocolTCP or ProtocolUDP. Empty is that of HTTP with a Service, and else selects all.
	Protocol string
	// Service is the qualified name of a service with endpoints; empty selects all services.
	Service string
	// Endpoint is the address of an endpoint, whatever its UID; the zero value selects all of Service. Without both,
	// nothing is selected.
	Endpoint netip.AddrPort
}

// complete sets the protocol of a service where it is left out. It reports false for a selector that selects nothing.
func (s *DrainSelector) complete() bool {
	if s.Service != "" && s.Protocol == "" {
		s.Protocol = ProtocolHTTP
	}
	return s.Service != "" || s.Endpoint.IsValid()
}

// Drain is a drain by hand: what it selects gets no new requests, as with weight 0, until it ends.
type Drain struct {
	DrainSelector

	// Since is when it began.
	Since time.Time
	// Until is when it ends by itself; the zero value is never.
	Until time.Time
	// Unserved are the names of the pools of which no endpoint gets requests while the drain holds one, sorted. Only
	// Drains sets it.
	Unserved []string
}

// holds are the current drains. It is immutable; nil holds nothing.
type holds struct {
	drains   []Drain               // sorted
	selected map[DrainSelector]int // by their index
	// next is when the first of them ends; the zero time without one that does.
	next time.Time
}

// heldDrains are the drains of a registry. Readers take no lock.
type heldDrains struct {
	mutex   sync.Mutex // of those who replace current
	current atomic.Pointer[holds]
}

func newHolds(drains []Drain) *holds {
	if len(drains) == 0 {
		return nil
	}
	slices.SortFunc(drains, func(a, b Drain) int {
		return cmp.Or(strings.Compare(a.Protocol, b.Protocol), strings.Compare(a.Service, b.Service),
			a.Endpoint.Compare(b.Endpoint))
	})
	h := &holds{drains: drains, selected: make(map[DrainSelector]int, len(drains))}
	for i := range drains {
		h.selected[drains[i].DrainSelector] = i
		if until := drains[i].Until; !until.IsZero() {
			h.next = sooner(h.next, until)
		}
	}
	return h
}

// all returns the drains.
func (h *holds) all() []Drain {
	if h == nil {
		return nil
	}
	return h.drains
}

// has reports whether a member of a pool is held.
func (h *holds) has(pool string, address netip.AddrPort) bool { return h.of(pool, address) >= 0 }

// end returns when the next drain ends; the zero time without one that does.
func (h *holds) end() time.Time {
	if h == nil {
		return time.Time{}
	}
	return h.next
}

// selects reports whether a member of a pool is selected.
func (s *DrainSelector) selects(pool string, address netip.AddrPort) bool {
	return s.includes(pool) && (!s.Endpoint.IsValid() || s.Endpoint == address)
}

// includes reports whether members of a pool may be selected.
func (s *DrainSelector) includes(pool string) bool {
	protocol, service := SplitPoolName(pool)
	return (s.Protocol == "" || s.Protocol == protocol) && (s.Service == "" || s.Service == service)
}

// encloses reports whether all that other selects is selected, as far as the fields that are given say so.
func (s *DrainSelector) encloses(other *DrainSelector) bool {
	return (s.Protocol == "" || s.Protocol == other.Protocol) && (s.Service == "" || s.Service == other.Service) &&
		(!s.Endpoint.IsValid() || s.Endpoint == other.Endpoint)
}

// Drain begins a drain, or replaces the one with the same selector. It outlives changes of pools and endpoint sets. It
// takes effect with the next Flush, and returns how many members are selected now. Without force, an error of type
// *LastEndpointError refuses to leave a service without an endpoint that gets requests; the other errors are
// ErrNotBalanced and ErrTooManyDrains. Any goroutine may call it.
func (r *Registry) Drain(drain Drain, force bool) (selected int, err error) {
	if !drain.complete() {
		return 0, ErrNotBalanced
	}
	r.held.mutex.Lock()
	defer r.held.mutex.Unlock()
	drains := slices.DeleteFunc(slices.Clone(r.held.current.Load().all()), func(known Drain) bool {
		return known.DrainSelector == drain.DrainSelector
	})
	if len(drains) >= MaxDrains {
		return 0, ErrTooManyDrains
	}
	next := newHolds(append(drains, drain))
	found := false
	var last []string
	for pool := range r.Pools() {
		if !drain.includes(pool.name) {
			continue
		}
		snapshot := pool.Snapshot()
		some, remaining := snapshot.without(pool.name, &drain.DrainSelector, next)
		if some == 0 && drain.Endpoint.IsValid() {
			continue
		}
		found, selected = true, selected+some
		if remaining == 0 {
			last = append(last, pool.name)
		}
	}
	switch {
	case !found:
		return 0, ErrNotBalanced
	case len(last) > 0 && !force:
		slices.Sort(last)
		return selected, &LastEndpointError{Pools: last}
	}
	r.held.current.Store(next)
	r.events.setHeld()
	return selected, nil
}

// without returns how many members a selector selects, and how many would be left with drains to get requests. Those
// whose drain has just ended count, and in a pool in which none gets requests those that may recover.
func (s *Snapshot) without(pool string, selector *DrainSelector, drains *holds) (selected, left int) {
	for i := range s.candidates {
		one := &s.candidates[i]
		address := one.member.upstream.endpoint.key.Address
		if selector.selects(pool, address) {
			selected++
		}
		serves := i < s.serving || s.serving == 0 && one.state != Draining ||
			one.state == Draining && one.member.statusReasons.held.Load()
		if serves && !drains.has(pool, address) {
			left++
		}
	}
	return selected, left
}

// Undrain ends the drains that a selector encloses, and returns them: those of an endpoint in any service, all of a
// service, or one. It takes effect with the next Flush. Any goroutine may call it.
func (r *Registry) Undrain(selector DrainSelector) []Drain {
	if !selector.complete() {
		return nil
	}
	return r.endDrains(func(drain *Drain) bool { return selector.encloses(&drain.DrainSelector) })
}

// endDrains ends the drains that are selected, and returns them.
func (r *Registry) endDrains(ends func(*Drain) bool) []Drain {
	r.held.mutex.Lock()
	defer r.held.mutex.Unlock()
	var ended, kept []Drain
	for _, drain := range r.held.current.Load().all() {
		if ends(&drain) {
			ended = append(ended, drain)
		} else {
			kept = append(kept, drain)
		}
	}
	if len(ended) > 0 {
		r.held.current.Store(newHolds(kept))
		r.events.setHeld()
	}
	return ended
}

// Drains returns the drains, sorted by protocol, service and endpoint. Any goroutine may call it. Its cost is
// proportional to the number of members of the pools that it finds unserved.
func (r *Registry) Drains() []Drain {
	known := r.held.current.Load()
	drains := slices.Clone(known.all())
	r.markUnserved(known, drains)
	return drains
}

// applyHolds marks the pools with members that begin or end to be held.
func (r *Registry) applyHolds() {
	drains := r.held.current.Load()
	for pool := range r.Pools() {
		if pool.holdsDiffer(drains) {
			r.mark(pool)
		}
	}
	r.expireWithDrains(drains)
}

// expireWithDrains has takeEvents call expire when the next drain ends.
func (r *Registry) expireWithDrains(drains *holds) {
	if end := drains.end(); !end.IsZero() {
		r.expireAt(max(end.Sub(r.epoch), 1))
	}
}

// holdsDiffer reports whether drains hold other members of the pool than are held.
func (p *Pool) holdsDiffer(drains *holds) bool {
	for _, server := range p.servers {
		for _, member := range server.members {
			if member.statusReasons.held.Load() != drains.has(p.name, member.declared.Address) {
				return true
			}
		}
	}
	return false
}

// expireDrains ends the drains whose time is over.
func (r *Registry) expireDrains(now time.Duration) {
	if end := r.held.current.Load().end(); end.IsZero() || end.Sub(r.epoch) > now {
		return
	}
	ended := r.endDrains(func(drain *Drain) bool { return !drain.Until.IsZero() && drain.Until.Sub(r.epoch) <= now })
	if r.options.Undrained != nil {
		for _, drain := range ended {
			r.options.Undrained(drain)
		}
	}
	r.applyHolds()
}
