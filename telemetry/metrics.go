package telemetry

import (
	"sync"
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
	// bounds are those of all views together.
	bounds  []float64
	scraped *view
	pushed  *view
	// served counts the requests of all entrypoints by what OpenTelemetry tells apart; nil where nothing is pushed.
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
	standingMu     sync.Mutex
	// standing are the gauges that are read when somebody asks. There are as many as servers, which is too many for a registry to look at
	// each.
	standing []standing
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
		compiles:       prometheus.NewHistogram(durations("sluice_config_compile_duration_seconds", "Duration of compilations.")),
		lags: prometheus.NewHistogramVec(durations("sluice_provider_lag_seconds",
			"From when a provider told of a configuration until it was put to work."), []string{"provider"}),
		endpoints: prometheus.NewHistogram(durations("sluice_endpoint_change_seconds",
			"From when a change of endpoints was heard of until requests see it.")),
		providers: newProviderCounters(),
	}
	m.history.samples = map[string][]trafficSample{}
	m.scraped = m.newView(MetricsView{orDefault(options.Buckets), options.EntryPoints, options.Routers, options.Services})
	if options.Pushed != nil {
		m.pushed = m.newView(*options.Pushed)
		m.served = &Series{owners: m.owners, bounds: m.bounds}
	}
	if options.Dropped == nil {
		options.Dropped = func() uint64 { return 0 }
	}
	m.registry.MustRegister(m.reloads, m.lastReload, m.generation, m.quarantined, m.compileSeconds, m.compiles, m.lags, m.endpoints,
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "sluice_log_failures_dropped_total",
			Help: "Failed requests that were not logged because too many came at once.",
		}, func() float64 { return float64(options.Dropped()) }),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.registry.MustRegister(m.providers.collectors()...)
	m.stand(m.openConnections())
	return m
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

// Registry gives access to the collectors that other stages add to. It has everything but what is counted for each request and how
// servers, pools and certificates stand.
func (m *Metrics) Registry() *prometheus.Registry { return m.registry }

// Reload says that a configuration generation has been put to work.
type Reload struct {
	// Generation is its number, Quarantined the count of objects left out.
	Generation  uint64
	Quarantined int
	// UnixSeconds is when; CompileSeconds how long the compilation took.
	UnixSeconds    float64
	CompileSeconds float64
	// Lags say for each provider whose configuration has changed how long ago it told so.
	Lags map[string]time.Duration
}

// Reloaded records a configuration generation.
func (m *Metrics) Reloaded(reload Reload) {
	m.reloads.Inc()
	m.lastReload.Set(reload.UnixSeconds)
	m.generation.Set(float64(reload.Generation))
	m.quarantined.Set(float64(reload.Quarantined))
	m.compileSeconds.Set(reload.CompileSeconds)
	m.compiles.Observe(reload.CompileSeconds)
	for provider, lag := range reload.Lags {
		m.lags.WithLabelValues(text(provider)).Observe(lag.Seconds())
	}
}

// EndpointsChanged records how long after it was heard of a change of endpoints was seen by requests.
func (m *Metrics) EndpointsChanged(took time.Duration) { m.endpoints.Observe(took.Seconds()) }
