package metrics

import (
	"crypto/x509"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluiceproxy/sluice/redact"
)

// ServerStatus is the health of one server of a service.
type ServerStatus struct {
	// Service is name@provider, URL the server's, of which scheme, host and path are shown.
	Service, URL string
	Up           bool
}

// Servers reads all servers at each scrape. A server that a service has twice is up when either is. It is
// called at most once, and servers may be called from any goroutine.
func Servers(servers iter.Seq[ServerStatus]) prometheus.Collector {
	return gauges{
		desc: prometheus.NewDesc("traefik_service_server_up", "Whether a server takes requests: 1 or 0.",
			[]string{"service", "url"}, nil),
		read: func(set func(value float64, labels ...string)) {
			up := map[[2]string]bool{}
			for server := range servers {
				key := [2]string{text(server.Service), text(withoutUser(server.URL))}
				up[key] = up[key] || server.Up
			}
			for key, is := range up {
				value := 0.0
				if is {
					value = 1
				}
				set(value, key[0], key[1])
			}
		},
	}
}

// PoolStatus is the state of the endpoints of a service.
type PoolStatus struct {
	// Protocol is http, tcp or udp, Service name@provider.
	Protocol, Service string
	// Endpoints counts its endpoints by state: ready, ejected and so on.
	Endpoints map[string]int
	// InFlight counts the requests that they are answering, or the connections or sessions that are open.
	InFlight int64
}

// Pools reads the pools of all services at each scrape: a few series for each service, however many
// endpoints it has. It is registered at most once, and pools may be called from any goroutine.
func Pools(pools iter.Seq[PoolStatus]) []prometheus.Collector {
	return []prometheus.Collector{
		gauges{
			desc: prometheus.NewDesc("sluice_service_endpoints", "Endpoints of a service, by state.",
				[]string{"protocol", "service", "state"}, nil),
			read: func(set func(value float64, labels ...string)) {
				counts := map[[3]string]int{}
				for pool := range pools {
					for state, count := range pool.Endpoints {
						counts[[3]string{pool.Protocol, text(pool.Service), text(state)}] += count
					}
				}
				for key, count := range counts {
					set(float64(count), key[:]...)
				}
			},
		},
		inFlight(pools, "http", "sluice_service_in_flight", "Requests that the endpoints of a service are answering."),
		inFlight(pools, "tcp", "sluice_tcp_connections_open", "Connections that are open to the endpoints of a TCP service."),
	}
}

// inFlight is a gauge of what is in flight in the pools of a protocol.
func inFlight(pools iter.Seq[PoolStatus], protocol, name, help string) gauges {
	return gauges{
		desc: prometheus.NewDesc(name, help, []string{"service"}, nil),
		read: func(set func(value float64, labels ...string)) {
			counts := map[string]int64{}
			for pool := range pools {
				if pool.Protocol == protocol {
					counts[text(pool.Service)] += pool.InFlight
				}
			}
			for service, count := range counts {
				set(float64(count), service)
			}
		},
	}
}

// Certificates reads the expiry of all certificates at each scrape. It is registered at most once, and
// certificates may be called from any goroutine; nil ones are skipped.
func Certificates(certificates iter.Seq[*x509.Certificate]) prometheus.Collector {
	return gauges{
		desc: prometheus.NewDesc("traefik_tls_certs_not_after", "Unix time in seconds at which a certificate ends.",
			[]string{"cn", "sans", "serial"}, nil),
		read: func(set func(value float64, labels ...string)) {
			ends := map[[3]string]float64{}
			for certificate := range certificates {
				if certificate == nil || certificate.SerialNumber == nil {
					continue
				}
				names := strings.Join(slices.Sorted(slices.Values(certificate.DNSNames)), ",")
				key := [3]string{text(certificate.Subject.CommonName), text(names), certificate.SerialNumber.String()}
				ends[key] = float64(certificate.NotAfter.Unix())
			}
			for key, end := range ends {
				set(end, key[:]...)
			}
		},
	}
}

// CRL is what is shown of a certificate revocation list.
type CRL struct {
	// Options is the qualified name of the TLS options with the list, Issuer the authority's.
	Options, Issuer string
	// NextUpdate is until when the list is valid.
	NextUpdate time.Time
}

// CRLs reads the validity of certificate revocation lists at each scrape; of several of one issuer, that of the last
// one. It is registered at most once, and lists may be called from any goroutine.
func CRLs(lists func() []CRL) prometheus.Collector {
	return gauges{
		desc: prometheus.NewDesc("sluice_tls_crl_next_update",
			"Unix time in seconds until which a CRL for client certificates is valid.", []string{"options", "issuer"}, nil),
		read: func(set func(value float64, labels ...string)) {
			ends := map[[2]string]float64{}
			for _, list := range lists() {
				key := [2]string{text(list.Options), text(list.Issuer)}
				ends[key] = max(ends[key], float64(list.NextUpdate.Unix()))
			}
			for key, end := range ends {
				set(end, key[:]...)
			}
		},
	}
}

// Dropped reads sluice_telemetry_dropped_total{signal} from count. what is the signal, such as access_log,
// traces or log, of which items were dropped because they could not be written fast enough. It is registered once
// for each, and count from any goroutine.
func Dropped(what string, count func() uint64) prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name:        "sluice_telemetry_dropped_total",
		Help:        "Log lines and spans that were dropped because they came faster than they could be written.",
		ConstLabels: prometheus.Labels{"signal": what},
	}, func() float64 { return float64(count()) })
}

// Mirrors reads the count of requests to mirrors by result at each scrape. The functions may be called from any
// goroutine.
func Mirrors(results map[string]func() uint64) []prometheus.Collector {
	var all []prometheus.Collector
	for result, count := range results {
		all = append(all, prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name:        "sluice_mirror_requests_total",
			Help:        "Copies of requests for mirrors: sent, dropped, unread or broken.",
			ConstLabels: prometheus.Labels{"result": result},
		}, func() float64 { return float64(count()) }))
	}
	return all
}

// withoutUser returns scheme, host and path of a URL, which may hold a token in its query.
func withoutUser(server string) string {
	return strings.Replace(redact.URL(server), redact.Hidden+"@", "", 1)
}

// gauges is a family of gauges that are read at each scrape.
type gauges struct {
	desc *prometheus.Desc
	// read calls set with each value and its labels' values, of which no two sets are the same.
	read func(set func(value float64, labels ...string))
}

// Describe sends the description of the family.
func (g gauges) Describe(to chan<- *prometheus.Desc) { to <- g.desc }

// Collect sends the gauges as they are now.
func (g gauges) Collect(to chan<- prometheus.Metric) {
	g.read(func(value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, value, labels...)
	})
}
