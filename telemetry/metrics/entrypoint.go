package metrics

import (
	"crypto/tls"
	"net/http"
	"sync/atomic"
	"time"
)

// Request is what is counted of a finished request.
type Request struct {
	// Method is any; Protocol is http, websocket or sse; Version is HTTP/1.1, HTTP/2.0 and so on.
	Method, Protocol, Version string
	// Status is what the client got, OriginStatus what the service answered; 0 where there was none.
	Status, OriginStatus int
	// BytesReceived is the length of the request's body, BytesSent that of the response's, OriginBytes that of the
	// service's.
	BytesReceived, BytesSent, OriginBytes int64
	// Duration is how long the request took, ServiceDuration how long the service.
	Duration, ServiceDuration time.Duration
	// TLS is the connection's; nil without TLS.
	TLS *tls.ConnectionState
	// Header is that of the request, for header labels and X-Forwarded-Proto.
	Header http.Header
	// Router and Service count the request, too; nil where there is none.
	Router, Service *Series
}

// Entrypoint counts the requests and the connections of one entrypoint.
type Entrypoint struct {
	series Series
	// served is nil where nothing is pushed.
	served  *Series
	streams *Streams
	open    atomic.Int64
	labels  *headerLabels

	handshakes handshakes
	quic       QUIC
	http2      [http2Causes]atomic.Uint64
	refused    [refusedReasons]atomic.Uint64
}

const (
	statusCount   = 600
	methodCount   = 10
	protocolCount = 3
)

// openConnections returns how many connections are open.
func (e *Entrypoint) openConnections() int64 { return e.open.Load() + e.quic.open.Load() }

// Opened counts a connection over TCP that has been accepted.
func (e *Entrypoint) Opened() { e.open.Add(1) }

// Closed counts a connection over TCP that has been closed.
func (e *Entrypoint) Closed() { e.open.Add(-1) }

// Count counts a request for its entrypoint, its router and its service. It takes no lock and allocates nothing, but
// for the first request of its kind.
func (e *Entrypoint) Count(r *Request) {
	method, protocol := methodIndex(r.Method), protocolIndex(r.Protocol)
	o := observation{
		key:         shardKey(method, protocol, r.Status),
		combination: e.labels.combination(r.Header),
		received:    uint64(max(r.BytesReceived, 0)),
		sent:        uint64(max(r.BytesSent, 0)),
		tls:         r.TLS,
	}
	o.last(r.Duration)
	e.series.add(&o)
	if e.served != nil {
		e.served.add(&observation{
			key: servedKey(method, r), combination: -1, seconds: o.seconds, native: o.native, ticks: o.ticks,
		})
	}
	r.Router.add(&o)
	if r.Service == nil {
		return
	}
	if r.OriginStatus > 0 { // What the service answered, which middlewares may have changed.
		o.key = shardKey(method, protocol, r.OriginStatus)
		o.sent = uint64(max(r.OriginBytes, 0))
	}
	o.last(r.ServiceDuration)
	r.Service.add(&o)
}

// CountStream counts a TCP connection or UDP session that has ended.
func (e *Entrypoint) CountStream(stream *Stream) { e.streams.count(e.series.name, stream) }

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
