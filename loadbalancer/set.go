package loadbalancer

import (
	"slices"

	"github.com/sluiceproxy/sluice/dynamic"
)

// set is the last known state of one endpoint set and the servers that follow it.
type set struct {
	key       string
	version   uint64
	endpoints []dynamic.Endpoint
	users     []*server
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
		known = &set{key: key}
		r.sets[key] = known
	}
	return known
}

// subscribe has a server follow its set, if it has one.
func (r *Registry) subscribe(s *server) {
	if s.spec.SetKey != "" {
		s.set = r.set(s.spec.SetKey)
		s.place = len(s.set.users)
		s.set.users = append(s.set.users, s)
	}
}

func (r *Registry) unsubscribe(s *server) {
	if s.set == nil {
		return
	}
	users := s.set.users
	last := users[len(users)-1]
	users[s.place], last.place = last, s.place
	users[len(users)-1] = nil
	s.set.users = users[:len(users)-1]
	r.forget(s.set)
}

// forget drops a set without servers that is deleted or never arrived.
func (r *Registry) forget(s *set) {
	if len(s.users) == 0 && (s.deleted || !s.arrived) {
		delete(r.sets, s.key)
	}
}
