package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// ACMECertificate is what is shown of a certificate that a resolver obtains. Zero times are not shown.
type ACMECertificate struct {
	Resolver, Name, State    string
	Failures                 int
	Next, Renew, WindowStart time.Time
}

// ACME counts what certificate resolvers do. It is safe for concurrent use.
type ACME struct{ orders *prometheus.CounterVec }

// ACME returns the counters of certificate resolvers, which are shown from then on. certificates is called at each
// scrape. ACME may be called once.
func (m *Metrics) ACME(certificates func() []ACMECertificate) *ACME {
	a := &ACME{orders: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sluice_acme_orders_total", Help: "Orders of certificates that ended: issued or failed.",
	}, []string{"resolver", "result"})}
	states := func(set func(float64, ...string)) {
		counts := map[[2]string]int{}
		for _, c := range certificates() {
			counts[[2]string{c.Resolver, c.State}]++
		}
		for key, count := range counts {
			set(float64(count), key[0], key[1])
		}
	}
	times := func(of func(ACMECertificate) time.Time) func(func(float64, ...string)) {
		return func(set func(float64, ...string)) {
			for _, c := range certificates() {
				if at := of(c); !at.IsZero() {
					set(float64(at.Unix()), c.Resolver, c.Name)
				}
			}
		}
	}
	each := []string{"resolver", "name"}
	m.Register(a.orders,
		gauges{desc: prometheus.NewDesc("sluice_acme_certificates", "Certificates of resolvers by state.",
			[]string{"resolver", "state"}, nil), read: states},
		gauges{
			desc: prometheus.NewDesc("sluice_acme_next_attempt",
				"Unix time in seconds of the next order of a certificate whose last one has failed.", each, nil),
			read: times(func(c ACMECertificate) time.Time {
				if c.Failures == 0 {
					return time.Time{}
				}
				return c.Next
			}),
		},
		gauges{desc: prometheus.NewDesc("sluice_acme_renewal", "Unix time in seconds at which a certificate is renewed.", each,
			nil), read: times(func(c ACMECertificate) time.Time { return c.Renew })},
		gauges{
			desc: prometheus.NewDesc("sluice_acme_ari_window_start",
				"Unix time in seconds from which the certificate authority suggests to renew a certificate.", each, nil),
			read: times(func(c ACMECertificate) time.Time { return c.WindowStart }),
		},
	)
	return a
}

// Ordered counts an order that ended: issued or failed.
func (a *ACME) Ordered(resolver, result string) {
	a.orders.WithLabelValues(text(resolver), result).Inc()
}
