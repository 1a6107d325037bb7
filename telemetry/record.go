package telemetry

import (
	"cmp"
	"context"
	"crypto/tls"
	"net/http"
	"time"

	"github.com/sluiceproxy/sluice/telemetry/metrics"
)

// Record is what is known about one request, one connection of a TCP router, or one session of a UDP router. The
// exchange owns it: stages on the request's goroutine fill it in, and it is read once, after the handler has returned.
type Record struct {
	// Start is when the request's head had been read.
	Start time.Time
	// Method, Host, Path and Client are the request's, after canonicalisation; Protocol is http, websocket or sse,
	// and for connections of TCP routers and sessions of UDP routers, which are recorded when they end, tcp or udp.
	Method   string
	Host     string
	Path     string
	Client   string
	Protocol string
	// Query is the query as it was received, without the question mark.
	Query string
	// Version is the protocol as the request line has it: HTTP/1.1 or HTTP/2.0. ClientPort is the port of the
	// peer's address.
	Version    string
	ClientPort string
	// TLS is the connection's; nil without TLS. It is not changed.
	TLS *tls.ConnectionState
	// ServerName is the SNI of a connection of a TCP router, and End why the connection, or the session of a UDP router,
	// ended: client_eof, server_reset, idle_timeout and so on. Both are empty for HTTP.
	ServerName string
	End        string
	// RequestID is the X-Request-Id header of the client. Where it is empty, the access log generates one.
	RequestID string
	// Entrypoint, Router, Service and Endpoint are names (Endpoint is an address); empty where it did not get so far.
	Entrypoint string
	Router     string
	Service    string
	Endpoint   string
	// Environment is the tag of the subset of an environment service that answered, and EnvironmentReason why it was
	// selected: exact, ancestor, default, any or none. Both are empty without such a service.
	Environment       string
	EnvironmentReason string
	// Ingress is the object of Kubernetes that the router was made of; nil where it is none. It is shared and not changed.
	Ingress *Ingress
	// EndpointURL is scheme://host:port of the endpoint; empty where Endpoint is, or without an observer.
	EndpointURL string
	// HostNamed reports that the rule of the router admits no host but those that it names.
	HostNamed bool
	// Authenticated reports that basicAuth, digestAuth, jwt, forwardAuth, externalAuth or authRequest has admitted the
	// request, and is set by nothing else: no part of a request can set it.
	Authenticated bool
	// Critical reports that the router has the priority class critical: its requests are not refused because of overload.
	Critical bool
	// Username is the user name of the credentials that the client sent; verified where the request was not
	// refused. At most 255 bytes, and empty without an authentication middleware.
	Username string
	// Status is the status code sent to the client; 499 when the client left before the response began, 444 when the
	// exchange was reset on purpose before that.
	Status int
	// BytesSent counts the response body's bytes, BytesReceived those of the request's body; of connections and sessions
	// all that was sent to the client and received from it.
	BytesSent     int64
	BytesReceived int64
	// DatagramsSent and DatagramsReceived count those of a session of a UDP router; 0 for others.
	DatagramsSent     int64
	DatagramsReceived int64
	// Duration is how long the handler ran; set when the record is finished.
	Duration time.Duration
	// ServiceDuration is how long the service took, tries and bodies included; 0 without a service, or where neither
	// metrics nor the access log use it.
	ServiceDuration time.Duration
	// OriginStatus is the status code of the endpoint's response and OriginBytes the length of its body; 0
	// where there was none.
	OriginStatus int
	OriginBytes  int64
	// Tries counts attempts to reach an endpoint.
	Tries int
	// Code is the stable name of why Sluice itself answered or failed; empty otherwise.
	Code Code
	// Reason describes the cause of Code; for the log only, never for the client.
	Reason string
	// Released reports that the service has kept no reference to the request or its writer.
	Released bool
	// Broken reports that the endpoint did not complete a response that had begun.
	Broken bool
	// Excused reports a failure that is no fault of the endpoint: the client left, or was too slow to send its request.
	Excused bool
	// Generation is the configuration generation that answered.
	Generation uint64

	// Observe selects the observers of the request. The entrypoint sets it, and the router that answers may change it.
	Observe Observe
	// RouterSeries and ServiceSeries count the request beside the entrypoint's own; nil where there is none.
	RouterSeries  *metrics.Series
	ServiceSeries *metrics.Series
	// Span is the request's span where it is sampled, and otherwise nil.
	Span Span
	// Trace is the context in the traceparent header of the request, sampled or not; zero without tracing.
	Trace TraceContext
	// TraceApart reports that the request's header does not have Trace: the client of the endpoint adds it. A
	// router sets it where no middleware reads the header; the tracer clears it where the header has the
	// context nevertheless.
	TraceApart bool
	// RequestHeader and ResponseHeader are those of the exchange at its end, OriginHeader what the endpoint
	// sent. The first is set with any observer, the others where Observe has ObserveHeaders. They must not be
	// kept or changed.
	RequestHeader  http.Header
	ResponseHeader http.Header
	OriginHeader   http.Header
	// Captured holds values that the access log copied from the request when it began.
	Captured []string

	// parent is the memory of the traceparent header.
	parent [1]string
}

// The values of Record.Protocol for what is no request.
const (
	// ProtocolTCP is a connection of a TCP router.
	ProtocolTCP = "tcp"
	// ProtocolUDP is a session of a UDP router.
	ProtocolUDP = "udp"
)

// IsRequest reports whether the record is that of an HTTP request, and not of a TCP connection or a UDP session.
func (r *Record) IsRequest() bool { return r.Protocol != ProtocolTCP && r.Protocol != ProtocolUDP }

// Outcome returns why a connection or session has ended: End, or Code where no endpoint was connected to.
func (r *Record) Outcome() string { return cmp.Or(r.End, string(r.Code)) }

// Ingress is an Ingress of Kubernetes and the backend that one of its routers leads to: a Service, and the name
// or else the number of its port. Service and Port are empty where the backend is no Service.
type Ingress struct {
	Namespace string
	Name      string
	Service   string
	Port      string
}

// Observe is the set of observers of a request.
type Observe uint8

const (
	// ObserveMetrics counts the request.
	ObserveMetrics Observe = 1 << iota
	// ObserveAccess writes it into the access log.
	ObserveAccess
	// ObserveTrace makes it a candidate for sampling.
	ObserveTrace
	// ObserveDetail gives a sampled request spans for its router, middlewares and services too.
	ObserveDetail
	// ObserveHeaders keeps the headers of request, endpoint and response for the access log.
	ObserveHeaders
)

// Has reports whether all of the wanted bits are set.
func (o Observe) Has(wanted Observe) bool { return o&wanted == wanted }

// SetTraceparent puts the value into a header without an allocation of its own.
func (r *Record) SetTraceparent(header http.Header, value string) {
	r.parent[0] = value
	header["Traceparent"] = r.parent[:]
}

// Span is a timed part of a sampled request. It belongs to the request's goroutine.
type Span interface {
	// Child begins a child span. A client span is that of a call to another server.
	Child(name string, client bool) Span
	// Set notes an attribute: value is a string, bool, int, int64, float64 or []string. A key is set once:
	// collectors take no span that has two of the same.
	Set(key string, value any)
	// Traceparent returns the value of the traceparent header that makes a remote span a child of this one.
	Traceparent() string
	// End ends the span. A failure, in words, marks it as one.
	End(failure string)
}

type recordKey struct{}

// WithRecord returns a context that carries the record.
func WithRecord(ctx context.Context, record *Record) context.Context {
	return context.WithValue(ctx, recordKey{}, record)
}

// RecordKey is the context key of a *Record, for contexts that answer Value themselves without a wrapping context.
func RecordKey() any { return recordKey{} }

// RecordFrom returns the request's record; without one it returns a new record that is not observed, so that callers
// need no check.
func RecordFrom(ctx context.Context) *Record {
	if record, ok := ctx.Value(recordKey{}).(*Record); ok {
		return record
	}
	return &Record{}
}
