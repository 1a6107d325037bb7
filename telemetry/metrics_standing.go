package telemetry

import (
	"crypto/x509"
	"iter"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// ServerStanding says whether a server of a service takes requests.
type ServerStanding struct {
	// Service is name@provider, URL the server's; what it says of a user is not shown.
	Service, URL string
	Up           bool
}

// CountServers has all servers read whenever somebody asks for the metrics. A server that a service has twice is up when either is. It
// is called at most once, and servers may be called from any goroutine.
func (m *Metrics) CountServers(servers iter.Seq[ServerStanding]) {
	m.stand(standing{
		name: "traefik_service_server_up", help: "Whether a server takes requests: 1 or 0.", labels: []string{"service", "url"},
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
	})
}

// PoolStanding says how the endpoints of a service stand.
type PoolStanding struct {
	// Service is name@provider.
	Service string
	// Endpoints counts its endpoints by state, of which there are few: ready, ejected and so on.
	Endpoints map[string]int
	// InFlight counts the requests that they are answering.
	InFlight int64
}

// CountPools has the pools of all services read whenever somebody asks for the metrics: a few series for each service, however many
// endpoints it has. It is called at most once, and pools may be called from any goroutine.
func (m *Metrics) CountPools(pools iter.Seq[PoolStanding]) {
	m.stand(
		standing{
			name: "sluice_service_endpoints", help: "Endpoints of a service, by state.", labels: []string{"service", "state"},
			read: func(set func(value float64, labels ...string)) {
				counts := map[[2]string]int{}
				for pool := range pools {
					for state, count := range pool.Endpoints {
						counts[[2]string{text(pool.Service), text(state)}] += count
					}
				}
				for key, count := range counts {
					set(float64(count), key[:]...)
				}
			},
		},
		standing{
			name: "sluice_service_in_flight", help: "Requests that the endpoints of a service are answering.", labels: []string{"service"},
			read: func(set func(value float64, labels ...string)) {
				counts := map[string]int64{}
				for pool := range pools {
					counts[text(pool.Service)] += pool.InFlight
				}
				for service, count := range counts {
					set(float64(count), service)
				}
			},
		})
}

// CountCertificates has the end of all certificates read whenever somebody asks for the metrics. It is called at most once, and
// certificates may be called from any goroutine; those that are nil are passed over.
func (m *Metrics) CountCertificates(certificates iter.Seq[*x509.Certificate]) {
	m.stand(standing{
		name: "traefik_tls_certs_not_after", help: "Unix time in seconds at which a certificate ends.", labels: []string{"cn", "sans", "serial"},
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
	})
}

// CountDropped has sluice_telemetry_dropped_total{signal} read from count: what is the signal of which something was dropped because it
// came faster than it could be written, such as access_log, traces or log. It is called once for each, and count from any goroutine.
func (m *Metrics) CountDropped(what string, count func() uint64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name:        "sluice_telemetry_dropped_total",
		Help:        "Log lines and spans that were dropped because they came faster than they could be written.",
		ConstLabels: prometheus.Labels{"signal": what},
	}, func() float64 { return float64(count()) }))
}

// withoutUser returns the URL without user and password.
func withoutUser(server string) string {
	scheme, rest, found := strings.Cut(server, "://")
	if !found {
		return server
	}
	authority, path := rest, ""
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority, path = rest[:end], rest[end:]
	}
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		authority = authority[at+1:]
	}
	return scheme + "://" + authority + path
}

// standing is a family of gauges that are read when somebody asks.
type standing struct {
	name, help string
	// labels are the names of the labels, in their order.
	labels []string
	// read calls set with each value and its labels' values, of which no two sets are the same.
	read func(set func(value float64, labels ...string))
}

// stand adds families of gauges.
func (m *Metrics) stand(more ...standing) {
	m.standingMu.Lock()
	defer m.standingMu.Unlock()
	m.standing = append(slices.Clip(m.standing), more...)
}

// standings returns all families of gauges.
func (m *Metrics) standings() []standing {
	m.standingMu.Lock()
	defer m.standingMu.Unlock()
	return m.standing
}

// family returns the gauges as they are now.
func (s standing) family() *dto.MetricFamily {
	f := family(s.name, s.help, dto.MetricType_GAUGE)
	s.read(func(value float64, labels ...string) {
		metric := &dto.Metric{Gauge: &dto.Gauge{Value: &value}}
		for i, label := range s.labels {
			metric.Label = append(metric.Label, pair(label, labels[i]))
		}
		f.Metric = append(f.Metric, metric)
	})
	return f
}
