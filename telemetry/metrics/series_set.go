package metrics

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// SeriesSet holds the series of entrypoints, routers and services. Its lock is taken when a configuration is compiled
// and at a scrape, never for a request.
type SeriesSet struct {
	labels *headerLabels
	// bounds are the upper bounds of the classic buckets of all consumers.
	bounds []float64
	// served counts the requests of all entrypoints by the attributes of OpenTelemetry's conventions; nil where
	// nothing is pushed.
	served  *Series
	readers []*reader

	mu          sync.Mutex
	entrypoints map[string]*Entrypoint
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

func newSeriesSet(options Options) *SeriesSet {
	s := &SeriesSet{
		labels: newHeaderLabels(options.HeaderLabels), bounds: options.bounds(),
		entrypoints: map[string]*Entrypoint{}, routers: map[routerKey]*Series{}, services: map[string]*Series{},
		current: map[string]string{},
	}
	if options.Pushed != nil {
		s.served = &Series{set: s, bounds: s.bounds}
	}
	return s
}

// Entrypoint returns what counts the requests and connections of one entrypoint. For the same name it is the same.
func (set *SeriesSet) Entrypoint(name string) *Entrypoint {
	set.mu.Lock()
	defer set.mu.Unlock()
	entrypoint := set.entrypoints[name]
	if entrypoint == nil {
		entrypoint = &Entrypoint{
			series: Series{name: name, set: set, bounds: set.bounds}, labels: set.labels, served: set.served,
		}
		set.entrypoints[name] = entrypoint
	}
	return entrypoint
}

// Router returns the series of a router with its service, both as name@provider. For the same names it is the same.
func (set *SeriesSet) Router(name, service string) *Series {
	set.mu.Lock()
	defer set.mu.Unlock()
	set.current[name] = service
	key := routerKey{name, service}
	series := set.routers[key]
	if series == nil {
		series = &Series{name: name, service: service, router: true, set: set, bounds: set.bounds}
		set.routers[key] = series
	}
	return series
}

// Service returns the series of a service, name@provider. For the same name it is the same.
func (set *SeriesSet) Service(name string) *Series {
	set.mu.Lock()
	defer set.mu.Unlock()
	series := set.services[name]
	if series == nil {
		series = &Series{name: name, set: set, bounds: set.bounds}
		set.services[name] = series
	}
	return series
}

// ServeOnly drops the series of removed routers and services once every consumer has read their last counts.
// live returns the names of those that exist and is called at each scrape; nil sets keep everything.
func (set *SeriesSet) ServeOnly(live func() (routers, services map[string]bool)) {
	set.mu.Lock()
	defer set.mu.Unlock()
	set.live = live
}

// list returns the series of a kind that have one of the names, sorted by name and service; nil names are all.
func (set *SeriesSet) list(kind TrafficKind, names map[string]bool) []*Series {
	all := set.some(kind, names)
	slices.SortFunc(all, func(a, b *Series) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.service, b.service))
	})
	return all
}

// some returns what list does, in no order.
func (set *SeriesSet) some(kind TrafficKind, names map[string]bool) []*Series {
	set.mu.Lock()
	defer set.mu.Unlock()
	var found []*Series
	add := func(s *Series) {
		if names == nil || names[s.name] {
			found = append(found, s)
		}
	}
	switch kind {
	case TrafficEntrypoints:
		for _, entrypoint := range set.entrypoints {
			add(&entrypoint.series)
		}
	case TrafficRouters:
		for _, series := range set.routers {
			add(series)
		}
	case TrafficServices:
		for _, series := range set.services {
			add(series)
		}
	}
	return found
}

// comeBack queues a dropped series that has counted again, so that it is listed again.
func (set *SeriesSet) comeBack(s *Series) {
	if !s.gone.CompareAndSwap(true, false) {
		return
	}
	for {
		s.next = set.returned.Load()
		if set.returned.CompareAndSwap(s.next, s) {
			return
		}
	}
}

// relist lists the series again that came back, unless others have taken their place. The caller holds the lock.
func (set *SeriesSet) relist() {
	for s := set.returned.Swap(nil); s != nil; {
		next := s.next
		s.next = nil
		if s.router {
			if key := (routerKey{s.name, s.service}); set.routers[key] == nil {
				set.routers[key] = s
				if _, known := set.current[s.name]; !known {
					set.current[s.name] = s.service
				}
			}
		} else if set.services[s.name] == nil {
			set.services[s.name] = s
		}
		s = next
	}
}

// dead returns the series of routers and services that do not exist any more, with what they have counted. A
// router's series with another service than its present one goes with that service.
func (set *SeriesSet) dead() map[*Series]uint64 {
	set.mu.Lock()
	live := set.live
	set.mu.Unlock()
	if live == nil {
		return nil
	}
	routers, services := live()
	set.mu.Lock()
	defer set.mu.Unlock()
	set.relist()
	dead := map[*Series]uint64{}
	for key, series := range set.routers {
		if routers != nil && !routers[key.router] ||
			services != nil && set.current[key.router] != key.service && !services[key.service] {
			dead[series] = series.count()
		}
	}
	for name, series := range set.services {
		if services != nil && !services[name] {
			dead[series] = series.count()
		}
	}
	return dead
}

// drop forgets the series, which have counted that much, but for those that have counted more meanwhile.
func (set *SeriesSet) drop(dead map[*Series]uint64) {
	set.mu.Lock()
	defer set.mu.Unlock()
	for series, counted := range dead {
		set.unlist(series)
		series.gone.Store(true)
		if series.count() != counted { // add checks gone after it has counted, so no count is lost.
			set.comeBack(series)
		}
	}
}

// unlist takes a series out of the lists. The caller holds the lock.
func (set *SeriesSet) unlist(s *Series) {
	if !s.router {
		if set.services[s.name] == s {
			delete(set.services, s.name)
		}
		return
	}
	key := routerKey{s.name, s.service}
	if set.routers[key] != s {
		return
	}
	delete(set.routers, key)
	if set.current[s.name] == s.service {
		delete(set.current, s.name)
	}
}

// prune drops the series whose owners are gone and whose last counts every consumer has seen.
func (set *SeriesSet) prune() {
	gone := set.dead()
	for _, r := range set.readers {
		r.keepUnseen(gone)
	}
	set.drop(gone)
	for _, r := range set.readers {
		r.forget(gone)
	}
}

// Traffic returns the traffic of the named objects, sorted by name; nil selects all of the kind. Unknown names
// are left out.
func (set *SeriesSet) Traffic(kind TrafficKind, names []string) []Traffic {
	var wanted map[string]bool
	if names != nil {
		wanted = make(map[string]bool, len(names))
		for _, name := range names {
			wanted[name] = true
		}
	}
	all := set.list(kind, wanted)
	result := []Traffic{}
	for len(all) > 0 {
		same := 1
		for same < len(all) && all[same].name == all[0].name { // A router whose service has changed.
			same++
		}
		result = append(result, set.traffic(kind, all[:same]))
		all = all[same:]
	}
	return result
}

// traffic adds up series of one name.
func (set *SeriesSet) traffic(kind TrafficKind, series []*Series) Traffic {
	t := Traffic{Name: series[0].name, Buckets: [][2]float64{}}
	native := make([]uint64, nativeBuckets)
	for _, s := range series {
		s.shards.all(func(key uint64, c *shard) { t.add(key, c, native) })
	}
	for i, count := range native {
		if count > 0 {
			t.Buckets = append(t.Buckets, [2]float64{nativeBound(i), float64(count)})
		}
	}
	if kind == TrafficEntrypoints {
		t.OpenConnections = set.Entrypoint(t.Name).open.Load()
	}
	return t
}

// openConnections are the connections of all entrypoints.
func (set *SeriesSet) openConnections() gauges {
	return gauges{
		prometheus.NewDesc("traefik_open_connections", "Connections that are open on an entrypoint.",
			[]string{"entrypoint", "protocol"}, nil),
		func(show func(value float64, labels ...string)) {
			for _, s := range set.list(TrafficEntrypoints, nil) {
				show(float64(set.Entrypoint(s.name).open.Load()), text(s.name), "TCP")
			}
		},
	}
}
