package telemetry

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics holds Sluice's counters and gauges, under Traefik's names where Traefik has them, so that existing boards and
// alerts keep working.
type Metrics struct {
	registry        *prometheus.Registry
	requests        *prometheus.CounterVec
	connections     *prometheus.GaugeVec
	reloads         prometheus.Counter
	lastReload      prometheus.Gauge
	generation      prometheus.Gauge
	quarantined     prometheus.Gauge
	compileSeconds  prometheus.Gauge
	endpointSeconds prometheus.Histogram
	failuresDropped prometheus.CounterFunc
	providers       providerCounters
}

// NewMetrics returns metrics with their own registry. dropped counts failures that were not logged; nil means none.
func NewMetrics(dropped func() uint64) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "traefik_entrypoint_requests_total",
			Help: "Requests answered on an entrypoint, by code, method and protocol.",
		}, []string{"code", "method", "protocol", "entrypoint"}),
		connections: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "traefik_open_connections",
			Help: "Connections that are open on an entrypoint.",
		}, []string{"entrypoint", "protocol"}),
		reloads: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "traefik_config_reloads_total",
			Help: "Configuration generations put to work.",
		}),
		lastReload: gauge("traefik_config_last_reload_success",
			"Unix time in seconds at which the last configuration generation was put to work."),
		generation:     gauge("sluice_config_generation", "Number of the configuration generation that serves."),
		quarantined:    gauge("sluice_config_quarantined_objects", "Declared objects that are not put to work."),
		compileSeconds: gauge("sluice_config_compile_seconds", "Duration of the last compilation in seconds."),
		endpointSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "sluice_endpoint_change_seconds",
			Help:    "From when a change of endpoints was heard of until requests see it.",
			Buckets: []float64{.0001, .00025, .0005, .001, .002, .005, .01, .025, .05, .1, .5, 1},
		}),
		providers: newProviderCounters(),
	}
	if dropped == nil {
		dropped = func() uint64 { return 0 }
	}
	m.failuresDropped = prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "sluice_log_failures_dropped_total",
		Help: "Failed requests that were not logged because too many came at once.",
	}, func() float64 { return float64(dropped()) })
	m.registry.MustRegister(m.requests, m.connections, m.reloads, m.lastReload, m.generation, m.quarantined,
		m.compileSeconds, m.endpointSeconds, m.failuresDropped, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.registry.MustRegister(m.providers.collectors()...)
	return m
}

func gauge(name, help string) prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
}

// Handler answers with the metrics page.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}

// Registry gives access to the collectors, for tests of names and for collectors that other stages add.
func (m *Metrics) Registry() *prometheus.Registry { return m.registry }

// Reload says that a configuration generation has been put to work.
type Reload struct {
	// Generation is its number, Quarantined the count of objects left out.
	Generation  uint64
	Quarantined int
	// UnixSeconds is when; CompileSeconds how long the compilation took.
	UnixSeconds    float64
	CompileSeconds float64
}

// Reloaded records a configuration generation.
func (m *Metrics) Reloaded(reload Reload) {
	m.reloads.Inc()
	m.lastReload.Set(reload.UnixSeconds)
	m.generation.Set(float64(reload.Generation))
	m.quarantined.Set(float64(reload.Quarantined))
	m.compileSeconds.Set(reload.CompileSeconds)
}

// EndpointsChanged records how long after it was heard of a change of endpoints was seen by requests.
func (m *Metrics) EndpointsChanged(took time.Duration) { m.endpointSeconds.Observe(took.Seconds()) }
