package metrics

import (
	"iter"

	"github.com/prometheus/client_golang/prometheus"
)

// MiddlewareCounts are the counts and states of one middleware over all routers and services that use it.
type MiddlewareCounts struct {
	Middleware string
	// Events counts by what has happened: refused, delayed, tripped and so on.
	Events map[string]uint64
	// Levels are figures that go up and down: sources, in_flight and so on.
	Levels map[string]int64
	// States counts the routers and services for which the middleware is in each state.
	States map[string]int
}

// Middlewares reads all middlewares at each scrape. Events that never happened are left out. It is
// registered at most once, and middlewares may be called from any goroutine.
func Middlewares(middlewares iter.Seq[MiddlewareCounts]) prometheus.Collector {
	return &middlewareCollector{
		middlewares: middlewares,
		events: prometheus.NewDesc("sluice_middleware_events_total",
			"What middlewares did, by what happened.", []string{"middleware", "event"}, nil),
		levels: prometheus.NewDesc("sluice_middleware_level",
			"What middlewares hold now, over all routers and services.", []string{"middleware", "level"}, nil),
		states: prometheus.NewDesc("sluice_middleware_states",
			"Routers and services for which a middleware is in a state.", []string{"middleware", "state"}, nil),
	}
}

// middlewareCollector exposes MiddlewareCounts.
type middlewareCollector struct {
	middlewares            iter.Seq[MiddlewareCounts]
	events, levels, states *prometheus.Desc
}

// Describe sends the descriptions.
func (c *middlewareCollector) Describe(to chan<- *prometheus.Desc) {
	to <- c.events
	to <- c.levels
	to <- c.states
}

// Collect sends the figures.
func (c *middlewareCollector) Collect(to chan<- prometheus.Metric) {
	for m := range c.middlewares {
		name := text(m.Middleware)
		for event, count := range m.Events {
			if count > 0 {
				to <- prometheus.MustNewConstMetric(c.events, prometheus.CounterValue, float64(count), name, event)
			}
		}
		for level, value := range m.Levels {
			to <- prometheus.MustNewConstMetric(c.levels, prometheus.GaugeValue, float64(value), name, level)
		}
		for state, owners := range m.States {
			to <- prometheus.MustNewConstMetric(c.states, prometheus.GaugeValue, float64(owners), name, state)
		}
	}
}
