package telemetry

import "github.com/prometheus/client_golang/prometheus"

// providerCounters count what providers that translate object by object do with their objects, and the
// Kubernetes Events that they dropped.
type providerCounters struct {
	objects       map[string]*prometheus.CounterVec
	eventsDropped prometheus.Counter
}

func newProviderCounters() providerCounters {
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"provider", "kind"})
	}
	return providerCounters{
		objects: map[string]*prometheus.CounterVec{
			"events": counter("sluice_provider_events_total", "Notes that a declared object appeared, changed or went."),
			"builds": counter("sluice_provider_builds_total", "Translations of one declared object."),
			"pushes": counter("sluice_provider_pushes_total", "Translations that changed the provider's configuration."),
			"drops":  counter("sluice_provider_drops_total", "Translations that changed nothing."),
		},
		eventsDropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sluice_kubernetes_events_dropped_total",
			Help: "Kubernetes Events about objects that were not written because too many were due at once.",
		}),
	}
}

func (c providerCounters) collectors() []prometheus.Collector {
	all := []prometheus.Collector{c.eventsDropped}
	for _, counter := range c.objects {
		all = append(all, counter)
	}
	return all
}

// CountProvider adds n to sluice_provider_<what>_total{provider, kind}. What is events, builds, pushes or
// drops; anything else is not counted. It is safe for use by several goroutines.
func (m *Metrics) CountProvider(what, provider, kind string, n int) {
	if counter := m.providers.objects[what]; counter != nil && n > 0 {
		counter.WithLabelValues(provider, kind).Add(float64(n))
	}
}

// DropEvent counts a Kubernetes Event that was not written because too many were due at once.
func (m *Metrics) DropEvent() { m.providers.eventsDropped.Inc() }
