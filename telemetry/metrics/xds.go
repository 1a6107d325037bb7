package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// XDS counts what is published to xDS clients. It is safe for concurrent use.
type XDS struct {
	streams            prometheus.Gauge
	changes            *prometheus.CounterVec
	responses, bytes   *prometheus.CounterVec
	rejected, expired  *prometheus.CounterVec
	overdue            prometheus.Counter
	acknowledgeSeconds prometheus.Histogram
}

// XDS returns the counters of the xDS publisher, which are shown from then on. It may be called once.
func (m *Metrics) XDS() *XDS {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	x := &XDS{
		streams: prometheus.NewGauge(prometheus.GaugeOpts{Name: "sluice_xds_streams", Help: "Open streams of xDS clients."}),
		changes: counter("sluice_xds_resource_changes_total",
			"Published xDS resources that were added, changed or removed.", "type"),
		responses: counter("sluice_xds_responses_total",
			"Responses to xDS clients, by the cause: request for a subscription, push for a change.", "type", "cause"),
		bytes:    counter("sluice_xds_response_bytes_total", "Size of the responses to xDS clients.", "type"),
		rejected: counter("sluice_xds_rejected_total", "Responses that xDS clients have not accepted (NACK).", "type"),
		expired: counter("sluice_xds_expired_nonces_total",
			"Requests of xDS clients that answer an earlier response than the last one.", "type"),
		overdue: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sluice_xds_send_timeouts_total", Help: "Streams that ended because the xDS client did not read.",
		}),
		acknowledgeSeconds: prometheus.NewHistogram(durations("sluice_xds_acknowledge_seconds",
			"From when a change of endpoints was noticed until an xDS client has acknowledged it.")),
	}
	m.Register(x.streams, x.changes, x.responses, x.bytes, x.rejected, x.expired, x.overdue, x.acknowledgeSeconds)
	return x
}

// Changed counts resources of a type (lds, rds, cds or eds) that were added, changed or removed.
func (x *XDS) Changed(kind string, resources int) {
	x.changes.WithLabelValues(kind).Add(float64(resources))
}

// Streams counts streams that begin (1) and end (-1).
func (x *XDS) Streams(difference int) { x.streams.Add(float64(difference)) }

// Sent counts a response and its size in bytes; cause is request or push.
func (x *XDS) Sent(kind, cause string, bytes int) {
	x.responses.WithLabelValues(kind, cause).Inc()
	x.bytes.WithLabelValues(kind).Add(float64(bytes))
}

// Acknowledged records the time from the change at its source to the acknowledgement of a client.
func (x *XDS) Acknowledged(after time.Duration) { x.acknowledgeSeconds.Observe(after.Seconds()) }

// Rejected counts a response that a client has not accepted.
func (x *XDS) Rejected(kind string) { x.rejected.WithLabelValues(kind).Inc() }

// Expired counts a request that answers an earlier response than the last one.
func (x *XDS) Expired(kind string) { x.expired.WithLabelValues(kind).Inc() }

// Overdue counts a stream that ended because the client did not read.
func (x *XDS) Overdue() { x.overdue.Inc() }
