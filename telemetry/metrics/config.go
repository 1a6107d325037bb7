package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Config counts what becomes of the configuration: generations, changes of endpoints, and the objects of providers.
// It is safe for concurrent use.
type Config struct {
	reloads, eventsDropped prometheus.Counter
	lastReload, generation prometheus.Gauge
	quarantined, retained  prometheus.Gauge
	compileSeconds         prometheus.Gauge
	compiles, endpoints    prometheus.Histogram
	lags                   *prometheus.HistogramVec
	objects                map[string]*prometheus.CounterVec
}

func newConfig() *Config {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	objects := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"provider", "kind"})
	}
	return &Config{
		reloads: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "traefik_config_reloads_total",
			Help: "Activated configuration generations.",
		}),
		lastReload: gauge("traefik_config_last_reload_success",
			"Unix time in seconds at which the last configuration generation was applied."),
		generation:  gauge("sluice_config_generation", "Number of the configuration generation that serves."),
		quarantined: gauge("sluice_config_quarantined_objects", "Declared objects that are not applied."),
		retained: gauge("sluice_config_retained_objects",
			"Declared objects with an invalid definition whose last valid one is in use."),
		compileSeconds: gauge("sluice_config_compile_seconds", "Duration of the last compilation in seconds."),
		compiles: prometheus.NewHistogram(durations("sluice_config_compile_duration_seconds",
			"Duration of compilations.")),
		lags: prometheus.NewHistogramVec(durations("sluice_provider_lag_seconds",
			"From when a provider sent a configuration until it was applied."), []string{"provider"}),
		endpoints: prometheus.NewHistogram(durations("sluice_endpoint_change_seconds",
			"From when a change of endpoints was received until requests see it.")),
		objects: map[string]*prometheus.CounterVec{
			"events": objects("sluice_provider_events_total",
				"Notifications that a declared object was added, changed or deleted."),
			"builds": objects("sluice_provider_builds_total", "Translations of one declared object."),
			"pushes": objects("sluice_provider_pushes_total", "Translations that changed the provider's configuration."),
			"drops":  objects("sluice_provider_drops_total", "Translations that changed nothing."),
		},
		eventsDropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sluice_kubernetes_events_dropped_total",
			Help: "Kubernetes Events about objects that were not written because too many were due at once.",
		}),
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

func (c *Config) collectors() []prometheus.Collector {
	all := []prometheus.Collector{
		c.reloads, c.eventsDropped, c.lastReload, c.generation, c.quarantined, c.retained, c.compileSeconds, c.compiles,
		c.endpoints, c.lags,
	}
	for _, counter := range c.objects {
		all = append(all, counter)
	}
	return all
}

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
func (c *Config) Reloaded(reload Reload) {
	c.reloads.Inc()
	c.lastReload.Set(reload.UnixSeconds)
	c.generation.Set(float64(reload.Generation))
	c.compileSeconds.Set(reload.CompileSeconds)
	c.compiles.Observe(reload.CompileSeconds)
	for provider, lag := range reload.Lags {
		c.lags.WithLabelValues(text(provider)).Observe(lag.Seconds())
	}
}

// SetQuarantined records how many objects are quarantined.
func (c *Config) SetQuarantined(objects int) { c.quarantined.Set(float64(objects)) }

// SetRetained records how many objects keep their last valid definition, because the declared one is invalid.
func (c *Config) SetRetained(objects int) { c.retained.Set(float64(objects)) }

// EndpointsChanged records the time from the notice of a change of endpoints until requests use it.
func (c *Config) EndpointsChanged(took time.Duration) { c.endpoints.Observe(took.Seconds()) }

// CountProvider adds n to sluice_provider_<what>_total{provider, kind}. What is events, builds, pushes or drops;
// anything else is not counted.
func (c *Config) CountProvider(what, provider, kind string, n int) {
	if counter := c.objects[what]; counter != nil && n > 0 {
		counter.WithLabelValues(provider, kind).Add(float64(n))
	}
}

// DropEvent counts a Kubernetes Event that was not written because too many were due at once.
func (c *Config) DropEvent() { c.eventsDropped.Inc() }
