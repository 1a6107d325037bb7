package metrics

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// refusedReasons are the values of the label reason; the last is for all others.
const refusedReasons = 10

func refusedReasonName(index int) string {
	return [refusedReasons]string{
		"max_connections", "max_connections_per_client", "connection_rate", "connection_rate_per_client",
		"descriptors", "handshakes", "handshake_rate", "handshake_rate_per_client", "overload", "other",
	}[index]
}

// Refused counts a connection that was refused because of a limit, by the reason.
func (e *Entrypoint) Refused(reason string) {
	index := refusedReasons - 1
	for i := range refusedReasons {
		if refusedReasonName(i) == reason {
			index = i
		}
	}
	e.refused[index].Add(1)
}

func newRefusedCollector(set *SeriesSet) *causeCollector {
	return &causeCollector{
		set: set, name: refusedReasonName, of: func(e *Entrypoint) []atomic.Uint64 { return e.refused[:] },
		desc: prometheus.NewDesc("sluice_connections_refused_total",
			"Connections that were refused because of a limit, by reason.", []string{"entrypoint", "reason"}, nil),
	}
}
