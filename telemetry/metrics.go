package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Metrics holds Sluice's counters and gauges, under Traefik's names where Traefik has them, so that existing boards and
// alerts keep working. What is counted for each request is in series of its own; everything else is in a registry.
type Metrics struct {
	registry *prometheus.Registry
	owners   *owners
	labels   *headerLabels
	// bounds are the upper bounds of the classic buckets of all consumers.
	bounds []float64
	// gatherer has everything that the page shows, and page tracks what was read of it.
	gatherer gatherers
	page     *reader
	// pushed and pushedGatherer are for what is pushed; nil where nothing is.
	pushed         *requestCollector
	pushedGatherer gatherers
	readers        []*reader
	// served counts the requests of all entrypoints by the attributes of OpenTelemetry's conventions; nil where
	// nothing is pushed.
	served         *Series
	history        history
	reloads        prometheus.Counter
	lastReload     prometheus.Gauge
	generation     prometheus.Gauge
	quarantined    prometheus.Gauge
	compileSeconds prometheus.Gauge
	compiles       prometheus.Histogram
	lags           *prometheus.HistogramVec
	endpoints      prometheus.Histogram
	providers      providerCounters
}

// NewMetrics returns metrics with their own registry.
func NewMetrics(options MetricsOptions) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		owners:   newOwners(),
		labels:   newHeaderLabels(options.HeaderLabels),
		bounds:   options.bounds(),
		reloads: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "traefik_config_reloads_total",
			Help: "Configuration generations put to work.",
		}),
		lastReload: gauge("traefik_config_last_reload_success",
			"Unix time in seconds at which the last configuration generation was put to work."),
		generation:     gauge("sluice_config_generation", "Number of the configuration generation that serves."),
		quarantined:    gauge("sluice_config_quarantined_objects", "Declared objects that are not put to work."),
		compileSeconds: gauge("sluice_config_compile_seconds", "Duration of the last compilation in seconds."),
		compiles: prometheus.NewHistogram(durations("sluice_config_compile_duration_seconds",
			"Duration of compilations.")),
		lags: prometheus.NewHistogramVec(durations("sluice_provider_lag_seconds",
			"From when a provider told of a configuration until it was put to work."), []string{"provider"}),
		endpoints: prometheus.NewHistogram(durations("sluice_endpoint_change_seconds",
			"From when a change of endpoints was heard of until requests see it.")),
		providers: newProviderCounters(),
	}
	m.history.samples = map[string][]trafficSample{}
	m.addConsumers(options)
	if options.Dropped == nil {
		options.Dropped = func() uint64 { return 0 }
	}
	m.registry.MustRegister(m.reloads, m.lastReload, m.generation, m.quarantined, m.compileSeconds, m.compiles, m.lags,
		m.endpoints,
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "sluice_log_failures_dropped_total",
			Help: "Failed requests that were not logged because too many came at once.",
		}, func() float64 { return float64(options.Dropped()) }),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.registry.MustRegister(m.providers.collectors()...)
	m.registry.MustRegister(m.openConnections())
	return m
}

// addConsumers sets up the page and what is pushed, each with a registry for what is counted for each request.
func (m *Metrics) addConsumers(options MetricsOptions) {
	consumer := func(view MetricsView, native bool) (*requestCollector, gatherers) {
		collector, registry := newRequestCollector(m, view, native), prometheus.NewRegistry()
		registry.MustRegister(collector)
		m.readers = append(m.readers, collector.reader)
		return collector, gatherers{m.registry, registry}
	}
	page, gatherer := consumer(MetricsView{
		orDefault(options.Buckets), options.EntryPoints, options.Routers, options.Services,
	}, true)
	m.page, m.gatherer = page.reader, gatherer
	if options.Pushed != nil {
		m.pushed, m.pushedGatherer = consumer(*options.Pushed, len(options.Pushed.Buckets) == 0)
		m.served = &Series{owners: m.owners, bounds: m.bounds}
	}
}

// durations describes a histogram of what is done beside requests.
func durations(name, help string) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{
		Name: name, Help: help,
		Buckets:                         []float64{.0001, .00025, .0005, .001, .002, .005, .01, .025, .05, .1, .5, 1, 5},
		NativeHistogramBucketFactor:     1.1,
		NativeHistogramMaxBucketNumber:  100,
		NativeHistogramMinResetDuration: time.Hour,
	}
}

func gauge(name, help string) prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
}

// Registry returns the registry that other stages add collectors to. It has all metrics but those of requests.
func (m *Metrics) Registry() *prometheus.Registry { return m.registry }

// Reload describes a configuration generation that has become active.
type Reload struct {
	// Generation is its number.
	Generation uint64
	// UnixSeconds is when; CompileSeconds how long the compilation took.
	UnixSeconds    float64
	CompileSeconds float64
	// Lags are, for each provider whose configuration changed, the time since it sent the change.
	Lags map[string]time.Duration
}

// Reloaded records a configuration generation.
func (m *Metrics) Reloaded(reload Reload) {
	m.reloads.Inc()
	m.lastReload.Set(reload.UnixSeconds)
	m.generation.Set(float64(reload.Generation))
	m.compileSeconds.Set(reload.CompileSeconds)
	m.compiles.Observe(reload.CompileSeconds)
	for provider, lag := range reload.Lags {
		m.lags.WithLabelValues(text(provider)).Observe(lag.Seconds())
	}
}

// SetQuarantined records how many objects are quarantined.
func (m *Metrics) SetQuarantined(objects int) { m.quarantined.Set(float64(objects)) }

// EndpointsChanged records the time from the notice of a change of endpoints until requests use it.
func (m *Metrics) EndpointsChanged(took time.Duration) { m.endpoints.Observe(took.Seconds()) }
