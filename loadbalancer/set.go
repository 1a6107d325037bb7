package loadbalancer

import (
	"slices"

	"github.com/sluiceproxy/sluice/dynamic"
)

// set is the last known state of one endpoint set and the pools that use it.
type set struct {
	key       string
	version   uint64
	endpoints []dynamic.Endpoint
	users     map[*Pool]struct{}
	arrived   bool
	deleted   bool
}

// take replaces the endpoints, unless the update is older than the set.
func (s *set) take(update dynamic.EndpointSet) bool {
	if s.arrived && update.Version != 0 && update.Version <= s.version {
		return false
	}
	s.arrived, s.version, s.deleted, s.endpoints = true, update.Version, update.Deleted, nil
	if !update.Deleted {
		s.endpoints = inOrder(update.Endpoints)
	}
	return true
}

// inOrder returns the endpoints sorted by address and without duplicates. Providers send them sorted; an
// unsorted list must not break the pass over members.
func inOrder(endpoints []dynamic.Endpoint) []dynamic.Endpoint {
	for i := range len(endpoints) - 1 {
		if endpoints[i].Address.Compare(endpoints[i+1].Address) < 0 {
			continue
		}
		endpoints = slices.Clone(endpoints)
		slices.SortStableFunc(endpoints, func(a, b dynamic.Endpoint) int { return a.Address.Compare(b.Address) })
		return slices.CompactFunc(endpoints, func(a, b dynamic.Endpoint) bool { return a.Address == b.Address })
	}
	return endpoints
}

func (r *Registry) set(key string) *set {
	known, found := r.sets[key]
	if !found {
		known = &set{key: key, users: map[*Pool]struct{}{}}
		r.sets[key] = known
	}
	return known
}

func (r *Registry) subscribe(pool *Pool, key string) {
	if key != "" {
		r.set(key).users[pool] = struct{}{}
	}
}

func (r *Registry) unsubscribe(pool *Pool, key string) {
	if known, found := r.sets[key]; found {
		delete(known.users, pool)
		r.forget(known)
	}
}

// forget drops a set without pools that is deleted or never arrived.
func (r *Registry) forget(s *set) {
	if len(s.users) == 0 && (s.deleted || !s.arrived) {
		delete(r.sets, s.key)
	}
}
