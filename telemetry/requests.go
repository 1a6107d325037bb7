package telemetry

import "github.com/sluiceproxy/sluice/telemetry/metrics"

// Requests is the sink that counts finished requests of one entrypoint, and its TCP connections and UDP sessions.
type Requests struct {
	// Entrypoint is what counts them.
	Entrypoint *metrics.Entrypoint
}

// Finished counts what the record is of, where its Observe has ObserveMetrics.
func (r Requests) Finished(record *Record) {
	if !record.Observe.Has(ObserveMetrics) {
		return
	}
	if !record.IsRequest() {
		r.stream(record)
		return
	}
	r.Entrypoint.Count(&metrics.Request{
		Method: record.Method, Protocol: record.Protocol, Version: record.Version,
		Status: record.Status, OriginStatus: record.OriginStatus,
		BytesReceived: record.BytesReceived, BytesSent: record.BytesSent, OriginBytes: record.OriginBytes,
		Duration: record.Duration, ServiceDuration: record.ServiceDuration,
		TLS: record.TLS, Header: record.RequestHeader,
		Router: record.RouterSeries, Service: record.ServiceSeries,
	})
}

// stream counts a connection or session.
func (r Requests) stream(record *Record) {
	undialled := record.Tries
	if record.End != "" { // The last endpoint was connected to.
		undialled--
	}
	r.Entrypoint.CountStream(&metrics.Stream{
		Datagrams: record.Protocol == ProtocolUDP, Router: record.Router, Service: record.Service,
		End: record.Outcome(), Undialled: undialled, BytesReceived: record.BytesReceived, BytesSent: record.BytesSent,
		DatagramsReceived: record.DatagramsReceived, DatagramsSent: record.DatagramsSent, Duration: record.Duration,
	})
}
