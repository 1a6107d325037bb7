package metrics

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// http2Causes are the values of the label cause; the last is for all others.
const http2Causes = 15

func http2CauseName(index int) string {
	return [http2Causes]string{
		"resets", "ping", "settings", "priority", "window_update", "empty_data", "continuation", "unknown_frames",
		"refused_requests", "header_list", "protocol", "opening_timeout", "ping_timeout", "write_timeout", "other",
	}[index]
}

// HTTP2Failed counts a connection of HTTP/2 that ended by a fault of its client, by the name of the cause.
func (e *Entrypoint) HTTP2Failed(cause string) {
	index := http2Causes - 1
	for i := range http2Causes {
		if http2CauseName(i) == cause {
			index = i
		}
	}
	e.http2[index].Add(1)
}

func newHTTP2Collector(set *SeriesSet) *causeCollector {
	return &causeCollector{
		set: set, name: http2CauseName, of: func(e *Entrypoint) []atomic.Uint64 { return e.http2[:] },
		desc: prometheus.NewDesc("sluice_http2_connection_errors_total",
			"Connections of HTTP/2 that ended by a fault of their clients, by cause.", []string{"entrypoint", "cause"}, nil),
	}
}
