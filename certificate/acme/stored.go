package acme

import (
	"time"

	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/static"
)

// Stored returns the states of resolvers from the values of their storage, by name. What routers need is not known: no
// certificate is unused, and one that was never ordered is missing.
func Stored(values map[storage.Key][]byte, resolvers map[string]*static.ACME) []ResolverStatus {
	now := time.Now()
	all := make([]ResolverStatus, 0, len(resolvers))
	for _, name := range sortedKeys(resolvers) {
		r := &resolver{name: name, config: resolvers[name], state: mirrorOf(values, name)}
		r.wanted = wanted{known: true, needs: r.state.needs()}
		all = append(all, r.status(now))
	}
	return all
}

// needs returns the names of the certificates, and of the orders that are open or have failed.
func (s *state) needs() []need {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var all []need
	for _, id := range sortedKeys(s.certificates) {
		all = append(all, need{names: s.certificates[id].names})
	}
	for _, id := range sortedKeys(s.schedules) {
		if one := s.schedules[id]; s.certificates[id] == nil && one.Failures > 0 && len(one.Names) > 0 {
			all = append(all, need{names: one.Names})
		}
	}
	for _, id := range sortedKeys(s.orders) {
		if one := s.orders[id]; s.certificates[id] == nil && len(one.Names) > 0 {
			all = append(all, need{names: one.Names})
		}
	}
	return all
}
