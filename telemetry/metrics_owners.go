package telemetry

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
)

// owners holds the series of entrypoints, routers and services. Its lock is taken when a configuration is
// compiled and at a scrape, never for a request.
type owners struct {
	mu          sync.Mutex
	entrypoints map[string]*Requests
	routers     map[routerKey]*Series
	services    map[string]*Series
	// current is the service that a router was last compiled with.
	current map[string]string
	live    func() (routers, services map[string]bool)
	// returned lists series that counted after they had been dropped.
	returned atomic.Pointer[Series]
}

// routerKey is the key of the series of a router: its service may change.
type routerKey struct{ router, service string }

func newOwners() *owners {
	return &owners{
		entrypoints: map[string]*Requests{}, routers: map[routerKey]*Series{}, services: map[string]*Series{},
		current: map[string]string{},
	}
}

// Entrypoint returns what counts the requests and connections of one entrypoint. For the same name it is the same.
func (m *Metrics) Entrypoint(name string) *Requests {
	m.owners.mu.Lock()
	defer m.owners.mu.Unlock()
	requests := m.owners.entrypoints[name]
	if requests == nil {
		requests = &Requests{
			series: Series{name: name, owners: m.owners, bounds: m.bounds}, labels: m.labels, served: m.served,
		}
		m.owners.entrypoints[name] = requests
	}
	return requests
}

// Router returns the series of a router with its service, both as name@provider. For the same names it is the same.
func (m *Metrics) Router(name, service string) *Series {
	m.owners.mu.Lock()
	defer m.owners.mu.Unlock()
	m.owners.current[name] = service
	key := routerKey{name, service}
	series := m.owners.routers[key]
	if series == nil {
		series = &Series{name: name, service: service, router: true, owners: m.owners, bounds: m.bounds}
		m.owners.routers[key] = series
	}
	return series
}

// Service returns the series of a service, name@provider. For the same name it is the same.
func (m *Metrics) Service(name string) *Series {
	m.owners.mu.Lock()
	defer m.owners.mu.Unlock()
	series := m.owners.services[name]
	if series == nil {
		series = &Series{name: name, owners: m.owners, bounds: m.bounds}
		m.owners.services[name] = series
	}
	return series
}

// ServeOnly drops the series of removed routers and services once every consumer has read their last counts.
// live returns the names of those that exist and is called at each scrape; nil sets keep everything.
func (m *Metrics) ServeOnly(live func() (routers, services map[string]bool)) {
	m.owners.mu.Lock()
	defer m.owners.mu.Unlock()
	m.owners.live = live
}

// list returns the series of a kind that have one of the names, sorted by name and service; nil names are all.
func (o *owners) list(kind TrafficKind, names map[string]bool) []*Series {
	all := o.some(kind, names)
	slices.SortFunc(all, func(a, b *Series) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.service, b.service))
	})
	return all
}

// some returns what list does, in no order.
func (o *owners) some(kind TrafficKind, names map[string]bool) []*Series {
	o.mu.Lock()
	defer o.mu.Unlock()
	var found []*Series
	add := func(s *Series) {
		if names == nil || names[s.name] {
			found = append(found, s)
		}
	}
	switch kind {
	case TrafficEntrypoints:
		for _, requests := range o.entrypoints {
			add(&requests.series)
		}
	case TrafficRouters:
		for _, series := range o.routers {
			add(series)
		}
	case TrafficServices:
		for _, series := range o.services {
			add(series)
		}
	}
	return found
}

// comeBack queues a dropped series that has counted again, so that it is listed again.
func (o *owners) comeBack(s *Series) {
	if !s.gone.CompareAndSwap(true, false) {
		return
	}
	for {
		s.next = o.returned.Load()
		if o.returned.CompareAndSwap(s.next, s) {
			return
		}
	}
}

// relist lists the series again that came back, unless others have taken their place. The caller holds the lock.
func (o *owners) relist() {
	for s := o.returned.Swap(nil); s != nil; {
		next := s.next
		s.next = nil
		if s.router {
			if key := (routerKey{s.name, s.service}); o.routers[key] == nil {
				o.routers[key] = s
				if _, known := o.current[s.name]; !known {
					o.current[s.name] = s.service
				}
			}
		} else if o.services[s.name] == nil {
			o.services[s.name] = s
		}
		s = next
	}
}

// dead returns the series of routers and services that do not exist any more, with what they have counted. A
// router's series with another service than its present one goes with that service.
func (o *owners) dead() map[*Series]uint64 {
	o.mu.Lock()
	live := o.live
	o.mu.Unlock()
	if live == nil {
		return nil
	}
	routers, services := live()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.relist()
	dead := map[*Series]uint64{}
	for key, series := range o.routers {
		if routers != nil && !routers[key.router] ||
			services != nil && o.current[key.router] != key.service && !services[key.service] {
			dead[series] = series.count()
		}
	}
	for name, series := range o.services {
		if services != nil && !services[name] {
			dead[series] = series.count()
		}
	}
	return dead
}

// drop forgets the series, which have counted that much, but for those that have counted more meanwhile.
func (o *owners) drop(dead map[*Series]uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for series, counted := range dead {
		o.unlist(series)
		series.gone.Store(true)
		if series.count() != counted { // add checks gone after it has counted, so no count is lost.
			o.comeBack(series)
		}
	}
}

// unlist takes a series out of the lists. The caller holds the lock.
func (o *owners) unlist(s *Series) {
	if !s.router {
		if o.services[s.name] == s {
			delete(o.services, s.name)
		}
		return
	}
	key := routerKey{s.name, s.service}
	if o.routers[key] != s {
		return
	}
	delete(o.routers, key)
	if o.current[s.name] == s.service {
		delete(o.current, s.name)
	}
}
