package telemetry

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// viewIdle is how long somebody who read metrics is waited for before series are dropped that are gone.
const viewIdle = 5 * time.Minute

// view is what one reader of metrics gets to see of requests.
type view struct {
	metrics *Metrics
	options MetricsView
	// picked says which of all bounds are this view's.
	picked []int

	mu sync.Mutex
	// read is when somebody read last; shown has the series that are gone and have been shown once more, with what they had counted.
	read  time.Time
	shown map[*Series]uint64
}

// newView returns a view. Its bounds are among those of the metrics.
func (m *Metrics) newView(options MetricsView) *view {
	v := &view{metrics: m, options: options, shown: map[*Series]uint64{}}
	v.options.Buckets = slices.Clone(options.Buckets)
	for i, bound := range m.bounds {
		if slices.Contains(v.options.Buckets, bound) {
			v.picked = append(v.picked, i)
		}
	}
	return v
}

// Gatherer gathers everything that /metrics shows.
func (m *Metrics) Gatherer() prometheus.Gatherer { return gatherer{m.registry, m.scraped} }

// gatherer puts what is counted for each request beside what is in the registry.
type gatherer struct {
	registry *prometheus.Registry
	view     *view
}

// Gather returns all metrics by name.
func (g gatherer) Gather() ([]*dto.MetricFamily, error) {
	families, err := g.registry.Gather()
	sight := g.view.look()
	families = append(families, g.view.families(sight)...)
	g.view.saw(sight)
	slices.SortFunc(families, func(a, b *dto.MetricFamily) int { return strings.Compare(a.GetName(), b.GetName()) })
	return families, err
}

// sight is what a view shows at one time.
type sight struct {
	levels []ranks
	// dead are the series that are gone, with what they had counted before they were shown.
	dead map[*Series]uint64
}

// ranks are the series of a level that are shown, in their order.
type ranks struct {
	level
	series []*Series
}

// look returns what the view shows now: everything but the series that are gone, and have counted nothing since they were shown once more.
func (v *view) look() sight {
	s := sight{dead: v.metrics.owners.dead()}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, level := range v.levels() {
		all := v.metrics.owners.list(level.kind, nil)
		s.levels = append(s.levels, ranks{level, slices.DeleteFunc(all, func(series *Series) bool {
			count, gone := s.dead[series]
			shown, before := v.shown[series]
			return gone && before && shown == count
		})})
	}
	return s
}

// saw notes that somebody has been shown it, and drops what nobody has still to see.
func (v *view) saw(s sight) {
	v.mu.Lock()
	v.shown, v.read = s.dead, time.Now()
	v.mu.Unlock()
	v.metrics.prune()
}

// families returns the metrics that are not in the registry.
func (v *view) families(s sight) []*dto.MetricFamily {
	families := v.standings()
	for _, ranks := range s.levels {
		page := newPage(v, ranks.level)
		for _, series := range ranks.series {
			page.add(series)
		}
		families = append(families, page.families()...)
	}
	return families
}

// standings returns the gauges that are read when somebody asks.
func (v *view) standings() []*dto.MetricFamily {
	var families []*dto.MetricFamily
	for _, standing := range v.metrics.standings() {
		if family := standing.family(); len(family.GetMetric()) > 0 {
			families = append(families, family)
		}
	}
	return families
}

// level is a kind of owner whose metrics a view shows: its label, and the names of its families.
type level struct {
	kind                                               TrafficKind
	label, requests, secure, durations, received, sent string
}

// levels returns what the options ask for.
func (v *view) levels() []level {
	var levels []level
	if v.options.EntryPoints {
		levels = append(levels, level{
			TrafficEntrypoints, "entrypoint", "traefik_entrypoint_requests_total", "traefik_entrypoint_requests_tls_total",
			"traefik_entrypoint_request_duration_seconds", "traefik_entrypoint_requests_bytes_total", "traefik_entrypoint_responses_bytes_total",
		})
	}
	if v.options.Routers {
		levels = append(levels, level{
			TrafficRouters, "router", "traefik_router_requests_total", "traefik_router_requests_tls_total",
			"traefik_router_request_duration_seconds", "traefik_router_requests_bytes_total", "traefik_router_responses_bytes_total",
		})
	}
	if v.options.Services {
		levels = append(levels, level{
			TrafficServices, "service", "traefik_service_requests_total", "traefik_service_requests_tls_total",
			"traefik_service_request_duration_seconds", "traefik_service_requests_bytes_total", "traefik_service_responses_bytes_total",
		})
	}
	return levels
}

// prune drops the series that are gone, and whose last counts everybody has seen who still reads.
func (m *Metrics) prune() {
	dead := m.owners.dead()
	for _, v := range m.views() {
		v.keepUnseen(dead)
	}
	m.owners.drop(dead)
	for _, v := range m.views() {
		v.forget(dead)
	}
}

// views returns everybody who may read.
func (m *Metrics) views() []*view {
	if m.pushed == nil {
		return []*view{m.scraped}
	}
	return []*view{m.scraped, m.pushed}
}

// keepUnseen removes from the dead what this view has still to show, unless nobody reads it any more.
func (v *view) keepUnseen(dead map[*Series]uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if time.Since(v.read) >= viewIdle {
		return
	}
	maps.DeleteFunc(dead, func(series *Series, count uint64) bool {
		shown, before := v.shown[series]
		return !before || shown != count
	})
}

// forget forgets that series have been shown.
func (v *view) forget(dropped map[*Series]uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for series := range dropped {
		delete(v.shown, series)
	}
}
