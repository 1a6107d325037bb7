package telemetry

import (
	"iter"

	"github.com/prometheus/client_golang/prometheus"
)

// balanceHelp holds what is counted for each service, and its explanation. The metric is sluice_service_<what>_total.
func balanceHelp() map[string]string {
	return map[string]string{
		"retries":           "Tries beyond the first of a request.",
		"retries_exhausted": "Tries that were not made because the retry budget was spent.",
		"ejections":         "Endpoints that were taken out because their answers failed.",
		"returns":           "Endpoints that came back after an ejection.",
		"ejections_spared":  "Ejections that were not carried out because too many endpoints were out already.",
		"checks_failed":     "Verdicts of the active check that turned bad.",
		"checks_passed":     "Verdicts of the active check that turned good again.",
		"panics":            "Times when so few endpoints were healthy that health was not asked for any more.",
		"saturated":         "Requests that were refused because a limit was reached.",
		"waited":            "Requests that waited because a limit was reached.",
		"spilled":           "Requests that left the zone because its endpoints were busier than others.",
		"moved":             "Clients whose sticky endpoint could not answer any more.",
		"cut":               "Endpoints whose connections were ended when the time to drain was over.",
	}
}

// BalanceCounts are the counts of one service by what is counted: retries, retries_exhausted, ejections and so on.
type BalanceCounts struct {
	Service string
	Counts  map[string]uint64
}

// CountBalance has the counts of all services read whenever somebody asks for the metrics. Counts of 0 are left out, so that
// thousands of services without trouble cost nothing. It is called at most once, and services may be called from any
// goroutine.
func (m *Metrics) CountBalance(services iter.Seq[BalanceCounts]) {
	collector := &balance{services: services, described: map[string]*prometheus.Desc{}}
	for what, help := range balanceHelp() {
		collector.described[what] = prometheus.NewDesc("sluice_service_"+what+"_total", help, []string{"service"}, nil)
	}
	m.registry.MustRegister(collector)
}

// balance is the counts of services as a collector.
type balance struct {
	services  iter.Seq[BalanceCounts]
	described map[string]*prometheus.Desc
}

// Describe sends the descriptions.
func (b *balance) Describe(to chan<- *prometheus.Desc) {
	for _, described := range b.described {
		to <- described
	}
}

// Collect sends the counts.
func (b *balance) Collect(to chan<- prometheus.Metric) {
	for service := range b.services {
		for what, count := range service.Counts {
			if described := b.described[what]; described != nil && count > 0 {
				to <- prometheus.MustNewConstMetric(described, prometheus.CounterValue, float64(count), service.Service)
			}
		}
	}
}
