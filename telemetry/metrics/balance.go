package metrics

import (
	"iter"

	"github.com/prometheus/client_golang/prometheus"
)

// balanceMetrics holds what is counted for each service, and by which metric.
func balanceMetrics() map[string]prometheus.CounterOpts {
	return map[string]prometheus.CounterOpts{
		"retries": {
			Name: "sluice_service_retries_total",
			Help: "Tries beyond the first of a request.",
		},
		"retries_exhausted": {
			Name: "sluice_service_retries_exhausted_total",
			Help: "Tries that were not made because the retry budget was spent.",
		},
		"ejections": {
			Name: "sluice_service_ejections_total",
			Help: "Endpoints that were taken out because their answers failed.",
		},
		"returns": {
			Name: "sluice_service_returns_total",
			Help: "Endpoints that came back after an ejection.",
		},
		"ejections_spared": {
			Name: "sluice_service_ejections_spared_total",
			Help: "Ejections that were not carried out because too many endpoints were out already.",
		},
		"checks_failed": {
			Name: "sluice_service_checks_failed_total",
			Help: "Verdicts of the active check that turned bad.",
		},
		"checks_passed": {
			Name: "sluice_service_checks_passed_total",
			Help: "Verdicts of the active check that turned good again.",
		},
		"panics": {
			Name: "sluice_service_panics_total",
			Help: "Times when so few endpoints were healthy that health was ignored.",
		},
		"saturated": {
			Name: "sluice_service_saturated_total",
			Help: "Requests that were refused because a limit was reached.",
		},
		"waited": {
			Name: "sluice_service_waited_total",
			Help: "Requests that waited because a limit was reached.",
		},
		"spilled": {
			Name: "sluice_service_spilled_total",
			Help: "Requests that left the zone because its endpoints were busier than others.",
		},
		"moved": {
			Name: "sluice_service_moved_total",
			Help: "Clients whose sticky endpoint could not answer any more.",
		},
		"cut": {
			Name: "sluice_service_cut_total",
			Help: "Endpoints whose connections were ended when the time to drain was over.",
		},
	}
}

// BalanceCounts are the counts of one service by what is counted: retries, retries_exhausted, ejections and so on.
type BalanceCounts struct {
	// Protocol is http, tcp or udp, Service name@provider.
	Protocol, Service string
	Counts            map[string]uint64
}

// Balance reads the counts of all services at each scrape. Counts of 0 are left out, so that
// thousands of services without trouble cost nothing. It is registered at most once, and services may be called from
// any goroutine.
func Balance(services iter.Seq[BalanceCounts]) prometheus.Collector {
	collector := &balance{
		services: services, described: map[string]*prometheus.Desc{},
		retries: prometheus.NewDesc("traefik_service_retries_total",
			"Tries beyond the first of a request, under Traefik's name.", []string{"service"}, nil),
	}
	for what, metric := range balanceMetrics() {
		collector.described[what] = prometheus.NewDesc(metric.Name, metric.Help, []string{"protocol", "service"}, nil)
	}
	return collector
}

// balance is the counts of services as a collector.
type balance struct {
	services  iter.Seq[BalanceCounts]
	described map[string]*prometheus.Desc
	// retries is Traefik's metric, which has HTTP services alone.
	retries *prometheus.Desc
}

// Describe sends the descriptions.
func (b *balance) Describe(to chan<- *prometheus.Desc) {
	to <- b.retries
	for _, described := range b.described {
		to <- described
	}
}

// Collect sends the counts.
func (b *balance) Collect(to chan<- prometheus.Metric) {
	for service := range b.services {
		for what, count := range service.Counts {
			described := b.described[what]
			if count == 0 || described == nil {
				continue
			}
			value := float64(count)
			to <- prometheus.MustNewConstMetric(described, prometheus.CounterValue, value, service.Protocol,
				text(service.Service))
			if what == "retries" && service.Protocol == "http" {
				to <- prometheus.MustNewConstMetric(b.retries, prometheus.CounterValue, value, text(service.Service))
			}
		}
	}
}
