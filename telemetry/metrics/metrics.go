// Package metrics counts requests, and shows operators what Sluice does as metrics of Prometheus and OpenTelemetry.
//
// In flow finished requests, changes of the configuration, and figures that are read at each scrape; out flow the
// metrics page, what is pushed to a collector, and the traffic that the API shows. Counting a request takes no lock and
// allocates nothing, but for the first request of its kind. Clients cannot make series: what they choose is mapped to a
// bounded number of values.
package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Metrics holds Sluice's counters and gauges, under Traefik's names where Traefik has them, so that existing boards and
// alerts keep working. What is counted for each request is in series of its own; everything else is in a registry.
type Metrics struct {
	*SeriesSet
	*Streams
	*Config
	*Sampler

	registry *prometheus.Registry
	page     *consumer
	// pushed is nil where nothing is pushed.
	pushed *pushed
}

// New returns metrics with their own registry.
func New(options Options) *Metrics {
	set := newSeriesSet(options)
	m := &Metrics{
		SeriesSet: set, Streams: set.streams, Config: newConfig(), Sampler: newSampler(set),
		registry: prometheus.NewRegistry(),
	}
	m.page = newConsumer(m.registry, set, View{
		orDefault(options.Buckets), options.EntryPoints, options.Routers, options.Services,
	}, true)
	if options.Pushed != nil {
		m.pushed = &pushed{
			consumer: newConsumer(m.registry, set, *options.Pushed, len(options.Pushed.Buckets) == 0), served: set.served,
		}
	}
	if options.Dropped == nil {
		options.Dropped = func() uint64 { return 0 }
	}
	m.Register(m.collectors()...)
	m.Register(
		m.openConnections(), newHandshakeCollector(set), newQUICCollector(set), newQUICDropsCollector(set),
		newHTTP2Collector(set),
		newRefusedCollector(set), newStreamCollector(set.streams),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "sluice_log_failures_dropped_total",
			Help: "Failed requests that were not logged because too many came at once.",
		}, func() float64 { return float64(options.Dropped()) }),
	)
	return m
}

// Register adds collectors, each of which may be added once.
func (m *Metrics) Register(collectors ...prometheus.Collector) {
	m.registry.MustRegister(collectors...)
}

// Handler answers with the metrics page: text, or protobuf with native histograms for a client that accepts it.
// Metrics that cannot be gathered are left out, and the others are shown.
func (m *Metrics) Handler() http.Handler { return m.page.handler() }

// Pushed gathers everything that is pushed: what the metrics page shows, with the buckets and the levels of
// Options.Pushed, and [ServedDuration]. It is nil where Options.Pushed is.
func (m *Metrics) Pushed() prometheus.Gatherer {
	if m.pushed == nil {
		return nil
	}
	return m.pushed
}
