package metrics

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// removedFor is how long the series of a removed router or service is shown after its last change, so that every
	// scraper reads the last counts and a failed push is repeated.
	removedFor = 5 * time.Minute
	// removedLimit bounds how many removed series are kept.
	removedLimit = 10_000
)

// SeriesSet holds the series of entrypoints, routers and services. Its lock is taken when a configuration is compiled
// and at a scrape, never for a request.
type SeriesSet struct {
	labels *headerLabels
	// bounds are the upper bounds of the classic buckets of all consumers.
	bounds []float64
	// served counts the requests of all entrypoints by the attributes of OpenTelemetry's conventions; nil where
	// nothing is pushed.
	served *Series
	// streams counts the connections and sessions of all entrypoints.
	streams *Streams

	mu          sync.Mutex
	entrypoints map[string]*Entrypoint
	// listed are the series of routers and services that are shown.
	listed map[seriesKey]*Series
	// dropped are the series that are not shown any more. Running requests may still count them.
	dropped map[seriesKey]weak.Pointer[Series]
	// current is the service that a router was last compiled with.
	current map[string]string
	live    func() (routers, services map[string]bool)
	// liveEntrypoints returns the names of the entrypoints that exist; nil keeps all. goneEntrypoints are not shown any
	// more, and may still be counted.
	liveEntrypoints func() map[string]bool
	goneEntrypoints map[string]weak.Pointer[Entrypoint]
	// returned lists series that counted after they had been dropped.
	returned atomic.Pointer[Series]
}

// seriesKey is the key of a series. The service is that of a router, which may change; otherwise empty.
type seriesKey struct {
	kind          TrafficKind
	name, service string
}

func newSeriesSet(options Options) *SeriesSet {
	s := &SeriesSet{
		labels: newHeaderLabels(options.HeaderLabels), bounds: options.bounds(),
		entrypoints: map[string]*Entrypoint{}, listed: map[seriesKey]*Series{},
		dropped: map[seriesKey]weak.Pointer[Series]{}, current: map[string]string{}, streams: &Streams{},
		goneEntrypoints: map[string]weak.Pointer[Entrypoint]{},
	}
	if options.Pushed != nil {
		s.served = &Series{set: s}
	}
	return s
}

// Entrypoint returns what counts the requests and connections of one entrypoint. For the same name it is the same.
func (set *SeriesSet) Entrypoint(name string) *Entrypoint {
	set.mu.Lock()
	defer set.mu.Unlock()
	entrypoint := set.entrypoints[name]
	if entrypoint == nil {
		entrypoint = set.goneEntrypoints[name].Value()
	}
	if entrypoint == nil {
		entrypoint = &Entrypoint{
			series: Series{seriesKey: seriesKey{kind: TrafficEntrypoints, name: name}, set: set},
			labels: set.labels, served: set.served, streams: set.streams,
		}
	}
	set.relistEntrypoint(entrypoint)
	return entrypoint
}

// Router returns the series of a router with its service, both as name@provider. For the same names it is the same.
func (set *SeriesSet) Router(name, service string) *Series {
	set.mu.Lock()
	defer set.mu.Unlock()
	set.current[name] = service
	return set.series(seriesKey{TrafficRouters, name, service})
}

// Service returns the series of a service, name@provider. For the same name it is the same.
func (set *SeriesSet) Service(name string) *Series {
	set.mu.Lock()
	defer set.mu.Unlock()
	return set.series(seriesKey{kind: TrafficServices, name: name})
}

// series returns the series of a key: the listed one, a dropped one that running requests still use, or a new one.
// The caller holds the lock.
func (set *SeriesSet) series(key seriesKey) *Series {
	s := set.listed[key]
	if s == nil {
		s = set.dropped[key].Value()
	}
	if s == nil {
		s = &Series{seriesKey: key, set: set}
	}
	s.gone.Store(false)
	s.removed = time.Time{}
	set.relist(s)
	return s
}

// relist lists a series. The caller holds the lock.
func (set *SeriesSet) relist(s *Series) {
	if s.kind == TrafficEntrypoints {
		if entrypoint := set.goneEntrypoints[s.name].Value(); entrypoint != nil && &entrypoint.series == s {
			set.relistEntrypoint(entrypoint)
		}
		return
	}
	set.listed[s.seriesKey] = s
	delete(set.dropped, s.seriesKey)
}

// ServeOnly drops the series of removed routers and services 5 minutes after their last change, or earlier if there
// are more than 10,000. live returns the names of those that exist and is called at each scrape; nil sets keep
// everything.
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
	if kind == TrafficEntrypoints {
		for name, entrypoint := range set.entrypoints {
			if names == nil || names[name] {
				found = append(found, &entrypoint.series)
			}
		}
		return found
	}
	for key, series := range set.listed {
		if key.kind == kind && (names == nil || names[key.name]) {
			found = append(found, series)
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

// prune drops the series that were removed long ago, and the oldest ones beyond the limit.
func (set *SeriesSet) prune() {
	set.mu.Lock()
	live, liveEntrypoints := set.live, set.liveEntrypoints
	set.mu.Unlock()
	if live == nil {
		return
	}
	routers, services := live()
	var entrypoints map[string]bool
	if liveEntrypoints != nil {
		entrypoints = liveEntrypoints()
	}
	set.mu.Lock()
	defer set.mu.Unlock()
	for s := set.returned.Swap(nil); s != nil; {
		next := s.next
		s.next = nil
		set.relist(s)
		s = next
	}
	now := time.Now()
	set.pruneEntrypoints(now, entrypoints)
	removed := set.markRemoved(now, routers, services)
	for i, s := range removed {
		if now.Sub(s.removed) < removedFor && len(removed)-i <= removedLimit {
			break
		}
		set.drop(s)
	}
	for key, series := range set.dropped {
		if series.Value() != nil {
			continue
		}
		delete(set.dropped, key)
		if key.kind == TrafficRouters && set.current[key.name] == key.service {
			delete(set.current, key.name)
		}
	}
}

// markRemoved returns the series of routers and services that do not exist any more, oldest first. A router's series
// with another service than its present one goes with that service. The caller holds the lock.
func (set *SeriesSet) markRemoved(now time.Time, routers, services map[string]bool) []*Series {
	var removed []*Series
	for key, s := range set.listed {
		exists := services == nil || services[key.name]
		if key.kind == TrafficRouters {
			exists = (routers == nil || routers[key.name]) &&
				(services == nil || services[key.service] || set.current[key.name] == key.service)
		}
		if exists {
			s.removed = time.Time{}
			continue
		}
		if count := s.count(); s.removed.IsZero() || s.counted != count {
			s.removed, s.counted = now, count
		}
		removed = append(removed, s)
	}
	slices.SortFunc(removed, func(a, b *Series) int { return a.removed.Compare(b.removed) })
	return removed
}

// drop stops to show a series, unless it is counted at the same time. The caller holds the lock.
func (set *SeriesSet) drop(s *Series) {
	s.gone.Store(true)
	if s.count() != s.counted { // add checks gone after it has counted, so no count is lost.
		s.gone.Store(false)
		return
	}
	delete(set.listed, s.seriesKey)
	set.dropped[s.seriesKey] = weak.Make(s)
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
		t.OpenConnections = set.ofSeries(series[0]).openConnections()
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
				e := set.ofSeries(s)
				show(float64(e.open.Load()), text(s.name), "TCP")
				if e.quic.opened.Load() {
					show(float64(e.quic.open.Load()), text(s.name), "QUIC")
				}
			}
		},
	}
}
