package telemetry

import "github.com/prometheus/client_golang/prometheus"

// CountMirrors reads the count of requests to mirrors by result at each scrape. It is called at most
// once, and the functions may be called from any goroutine.
func (m *Metrics) CountMirrors(results map[string]func() uint64) {
	for result, count := range results {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name:        "sluice_mirror_requests_total",
			Help:        "Copies of requests for mirrors: sent, dropped, unread or broken.",
			ConstLabels: prometheus.Labels{"result": result},
		}, func() float64 { return float64(count()) }))
	}
}
