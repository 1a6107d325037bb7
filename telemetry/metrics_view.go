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
	// read is when somebody read last; shown has the series that are gone and have been shown once more.
	read  time.Time
	shown map[*Series]bool
}

// newView returns a view. Its bounds are among those of the metrics.
func (m *Metrics) newView(options MetricsView) *view {
	v := &view{metrics: m, options: options, shown: map[*Series]bool{}}
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

// Pushed gathers everything that is pushed: the same with the buckets and the levels of MetricsOptions.Pushed. It is nil where those are.
func (m *Metrics) Pushed() prometheus.Gatherer {
	if m.pushed == nil {
		return nil
	}
	return gatherer{m.registry, m.pushed}
}

// gatherer puts what is counted for each request beside what is in the registry.
type gatherer struct {
	registry *prometheus.Registry
	view     *view
}

// Gather returns all metrics by name.
func (g gatherer) Gather() ([]*dto.MetricFamily, error) {
	families, err := g.registry.Gather()
	families = append(families, g.view.gather()...)
	g.view.metrics.prune()
	slices.SortFunc(families, func(a, b *dto.MetricFamily) int { return strings.Compare(a.GetName(), b.GetName()) })
	return families, err
}

// gather returns the metrics of requests.
func (v *view) gather() []*dto.MetricFamily {
	dead := v.metrics.owners.dead()
	v.mu.Lock()
	defer v.mu.Unlock()
	families := []*dto.MetricFamily{}
	if open := v.metrics.openConnections(); len(open.GetMetric()) > 0 {
		families = append(families, open)
	}
	for _, level := range v.levels() {
		page := newPage(v, level)
		for _, series := range v.metrics.owners.list(level.kind, nil) {
			if !dead[series] {
				delete(v.shown, series)
			} else if v.shown[series] {
				continue
			}
			page.add(series)
		}
		families = append(families, page.families()...)
	}
	for series := range dead {
		v.shown[series] = true
	}
	v.read = time.Now()
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

// prune drops the series that are gone and that everybody has seen once more who still reads.
func (m *Metrics) prune() {
	dead := m.owners.dead()
	for _, v := range m.views() {
		v.keepUnseen(dead)
	}
	m.owners.mu.Lock()
	for series := range dead {
		m.owners.drop(series)
	}
	m.owners.mu.Unlock()
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
func (v *view) keepUnseen(dead map[*Series]bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if time.Since(v.read) >= viewIdle {
		return
	}
	maps.DeleteFunc(dead, func(series *Series, _ bool) bool { return !v.shown[series] })
}

// forget forgets that series have been shown.
func (v *view) forget(dropped map[*Series]bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for series := range dropped {
		delete(v.shown, series)
	}
}
