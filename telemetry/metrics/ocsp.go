package metrics

import "github.com/prometheus/client_golang/prometheus"

// OCSP counts OCSP responses. It is safe for concurrent use.
type OCSP struct{ responses *prometheus.CounterVec }

// OCSP returns the counters of OCSP responses, which are shown from then on. states is called at each scrape, and
// returns the number of certificates by state. OCSP may be called once.
func (m *Metrics) OCSP(states func() map[string]int) *OCSP {
	o := &OCSP{responses: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sluice_ocsp_responses_total",
		Help: "Attempts to obtain an OCSP response that ended: good, revoked, unknown or failed.",
	}, []string{"result"})}
	m.Register(o.responses, gauges{
		desc: prometheus.NewDesc("sluice_ocsp_certificates", "Certificates with an OCSP responder by state.",
			[]string{"state"}, nil),
		read: func(set func(float64, ...string)) {
			for state, count := range states() {
				set(float64(count), state)
			}
		},
	})
	return o
}

// Answered counts an attempt that ended: good, revoked, unknown or failed.
func (o *OCSP) Answered(result string) { o.responses.WithLabelValues(result).Inc() }
