package metrics

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// quicCauses are the values of the label cause; the last is for all others.
const quicCauses = 10

func quicCauseName(index int) string {
	return [quicCauses]string{
		"refused", "handshake", "handshake_timeout", "idle_timeout", "stateless_reset", "transport", "http",
		"excessive_load", "resets", "other",
	}[index]
}

// QUIC counts the connections of HTTP/3 of one entrypoint. Its methods take no lock and allocate nothing.
type QUIC struct {
	// opened says that there has been any, so that entrypoints without HTTP/3 have no series.
	opened atomic.Bool
	open   atomic.Int64
	failed [quicCauses]atomic.Uint64
	// dropped counts packets for processes that drain.
	dropped atomic.Uint64
}

// Opened counts a connection from its first packet on.
func (q *QUIC) Opened() {
	if !q.opened.Load() {
		q.opened.Store(true)
	}
	q.open.Add(1)
}

// Closed counts the end of a connection.
func (q *QUIC) Closed() { q.open.Add(-1) }

// Failed counts a connection that ended by an error or was refused, by the name of the cause.
func (q *QUIC) Failed(cause string) {
	index := quicCauses - 1
	for i := range quicCauses {
		if quicCauseName(i) == cause {
			index = i
		}
	}
	q.failed[index].Add(1)
}

// Dropped counts a packet that was not passed on to a process that drains.
func (q *QUIC) Dropped() { q.dropped.Add(1) }

// QUIC returns what counts the connections of HTTP/3.
func (e *Entrypoint) QUIC() *QUIC { return &e.quic }

func newQUICCollector(set *SeriesSet) *causeCollector {
	return &causeCollector{
		set: set, name: quicCauseName, of: func(e *Entrypoint) []atomic.Uint64 { return e.quic.failed[:] },
		desc: prometheus.NewDesc("sluice_http3_connection_errors_total",
			"Connections of HTTP/3 that ended by an error or were refused, by cause.", []string{"entrypoint", "cause"}, nil),
	}
}

// causeCollector exposes the failed connections of one protocol of all entrypoints. Causes that have not occurred are
// left out.
type causeCollector struct {
	set  *SeriesSet
	desc *prometheus.Desc
	// name returns the name of the cause with an index, and of the counters of an entrypoint.
	name func(index int) string
	of   func(e *Entrypoint) []atomic.Uint64
}

// Describe sends the description of the family.
func (c *causeCollector) Describe(to chan<- *prometheus.Desc) { to <- c.desc }

// Collect sends the counters as they are now.
func (c *causeCollector) Collect(to chan<- prometheus.Metric) {
	for _, s := range c.set.list(TrafficEntrypoints, nil) {
		counted := c.of(c.set.ofSeries(s))
		for i := range counted {
			if count := counted[i].Load(); count > 0 {
				to <- prometheus.MustNewConstMetric(c.desc, prometheus.CounterValue, float64(count), text(s.name), c.name(i))
			}
		}
	}
}

// quicDropsCollector exposes the packets that were not passed on. Entrypoints without any are left out.
type quicDropsCollector struct {
	set  *SeriesSet
	desc *prometheus.Desc
}

func newQUICDropsCollector(set *SeriesSet) *quicDropsCollector {
	return &quicDropsCollector{
		set: set,
		desc: prometheus.NewDesc("sluice_http3_handover_dropped_packets_total",
			"Packets of HTTP/3 that were not passed on to a process that drains, because it reads too slowly.",
			[]string{"entrypoint"}, nil),
	}
}

// Describe sends the description of the family.
func (c *quicDropsCollector) Describe(to chan<- *prometheus.Desc) { to <- c.desc }

// Collect sends the counters as they are now.
func (c *quicDropsCollector) Collect(to chan<- prometheus.Metric) {
	for _, s := range c.set.list(TrafficEntrypoints, nil) {
		if count := c.set.ofSeries(s).quic.dropped.Load(); count > 0 {
			to <- prometheus.MustNewConstMetric(c.desc, prometheus.CounterValue, float64(count), text(s.name))
		}
	}
}
