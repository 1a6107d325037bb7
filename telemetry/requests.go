package telemetry

import "github.com/sluiceproxy/sluice/telemetry/metrics"

// Requests is the sink that counts finished requests of one entrypoint.
type Requests struct {
	// Entrypoint is what counts them.
	Entrypoint *metrics.Entrypoint
}

// Finished counts a request, where the record's Observe has ObserveMetrics.
func (r Requests) Finished(record *Record) {
	if !record.Observe.Has(ObserveMetrics) || !record.IsRequest() {
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
