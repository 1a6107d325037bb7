package telemetry

import (
	"crypto/tls"
	"net/http"
	"sync/atomic"
	"time"
)

// Requests counts the requests and the connections of one entrypoint.
type Requests struct {
	series Series
	// served is nil where nothing is pushed.
	served *Series
	open   atomic.Int64
	labels *headerLabels
}

const (
	statusCount   = 600
	methodCount   = 10
	protocolCount = 3
)

// Opened counts a connection that has been accepted.
func (r *Requests) Opened() { r.open.Add(1) }

// Closed counts a connection that has been closed.
func (r *Requests) Closed() { r.open.Add(-1) }

// Finished counts a request for its entrypoint, its router and its service, where the record's Observe has
// ObserveMetrics. It takes no lock and allocates nothing, but for the first request of its kind.
func (r *Requests) Finished(record *Record) {
	if !record.Observe.Has(ObserveMetrics) {
		return
	}
	method, protocol := methodIndex(record.Method), protocolIndex(record.Protocol)
	o := observation{
		key:         shardKey(method, protocol, record.Status),
		combination: r.labels.combination(record.RequestHeader),
		received:    uint64(max(record.BytesReceived, 0)),
		sent:        uint64(max(record.BytesSent, 0)),
		tls:         record.TLS,
	}
	o.last(record.Duration)
	r.series.add(&o)
	if r.served != nil {
		r.served.add(&observation{
			key: servedKey(method, record), combination: -1, seconds: o.seconds, native: o.native, ticks: o.ticks,
		})
	}
	record.RouterSeries.add(&o)
	if record.ServiceSeries == nil {
		return
	}
	if record.OriginStatus > 0 { // What the service answered, which middlewares may have changed.
		o.key = shardKey(method, protocol, record.OriginStatus)
		o.sent = uint64(max(record.OriginBytes, 0))
	}
	o.last(record.ServiceDuration)
	record.ServiceSeries.add(&o)
}

// last sets how long what is observed took.
func (o *observation) last(duration time.Duration) {
	duration = max(duration, 0)
	o.seconds = duration.Seconds()
	o.native = nativeIndex(o.seconds)
	o.ticks = uint64((duration + tick/2) / tick)
}

func methodName(index int) string {
	return [methodCount]string{
		"EXTENSION_METHOD", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "CONNECT", "OPTIONS", "TRACE",
	}[index]
}

// methodIndex maps unregistered methods to one label, so that a client cannot create series.
func methodIndex(method string) int {
	switch method {
	case http.MethodGet:
		return 1
	case http.MethodHead:
		return 2
	case http.MethodPost:
		return 3
	case http.MethodPut:
		return 4
	case http.MethodPatch:
		return 5
	case http.MethodDelete:
		return 6
	case http.MethodConnect:
		return 7
	case http.MethodOptions:
		return 8
	case http.MethodTrace:
		return 9
	}
	return 0
}

func protocolName(index int) string { return [protocolCount]string{"http", "websocket", "sse"}[index] }

func protocolIndex(protocol string) int {
	switch protocol {
	case protocolName(1):
		return 1
	case protocolName(2):
		return 2
	}
	return 0
}

// TLSVersionName returns the name of a version of TLS as Traefik's metrics and access log have it: 1.0 to 1.3,
// or unknown.
func TLSVersionName(version uint16) string {
	switch version {
	case tls.VersionTLS10:
		return "1.0"
	case tls.VersionTLS11:
		return "1.1"
	case tls.VersionTLS12:
		return "1.2"
	case tls.VersionTLS13:
		return "1.3"
	}
	return "unknown"
}
