package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// SPIFFE shows when Sluice's X.509-SVID ends. svid is called at each scrape, and returns "" while there is none. SPIFFE
// may be called once.
func (m *Metrics) SPIFFE(svid func() (id string, notAfter time.Time)) {
	m.Register(gauges{
		desc: prometheus.NewDesc("sluice_spiffe_svid_not_after",
			"Unix time in seconds at which the X.509-SVID ends that is presented to endpoints.", []string{"id"}, nil),
		read: func(set func(value float64, labels ...string)) {
			if id, notAfter := svid(); id != "" {
				set(float64(notAfter.Unix()), text(id))
			}
		},
	})
}
