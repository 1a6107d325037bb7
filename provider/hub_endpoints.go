package provider

import "github.com/sluiceproxy/sluice/dynamic"

// endpointSets holds the sets that have not been taken, the last one of each key. It does not compare them: a provider
// sends a set when it has changed, and a repeated one is only another version.
type endpointSets struct {
	version uint64
	// pending maps a key to its index in order, so that a newer set replaces the pending one.
	pending map[string]int
	order   []dynamic.EndpointSet
}

// put adds a set.
func (e *endpointSets) put(set dynamic.EndpointSet) {
	if index, ok := e.pending[set.Key]; ok {
		if before := e.order[index].Noticed; !before.IsZero() {
			set.Noticed = before
		}
		e.order[index] = set
		return
	}
	e.pending[set.Key] = len(e.order)
	e.order = append(e.order, set)
}

// take returns the sets that have been put since the last call, with their versions.
func (e *endpointSets) take() []dynamic.EndpointSet {
	sets := e.order
	e.order = nil
	if len(e.pending) > 0 {
		e.pending = map[string]int{} // A cleared map costs its largest size to clear again.
	}
	for i := range sets {
		e.version++
		sets[i].Version = e.version
	}
	return sets
}
