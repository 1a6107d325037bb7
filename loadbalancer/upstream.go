package loadbalancer

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/sluiceproxy/sluice/http1/client"
	http2 "github.com/sluiceproxy/sluice/http2/client"
)

// UpstreamKey identifies one way to reach an endpoint. Upstreams with different keys never share a connection.
type UpstreamKey struct {
	// Endpoint is the endpoint that is reached.
	Endpoint EndpointKey
	// Scheme is http, https or h2c; for other pools than those of HTTP tcp, tls or udp.
	Scheme string
	// Host is the authority of the server's URL, whose host name TLS sends as SNI and verifies. Empty unless
	// Scheme is https or tls, and where the server is known by its address only.
	Host string
	// Dialer is the transport.
	Dialer Dialer
}

// Checks reports whether the connections are those of active checks, which requests never share.
func (k UpstreamKey) Checks() bool { return k.Endpoint.Source == checkSource }

// Dialer is a transport: it makes the connections of each upstream. It is compared by identity, so it must be a
// pointer, and an unchanged transport must stay the same pointer for its connections to survive.
type Dialer interface {
	// Connect returns what makes connections to the upstream, a [RoundTripper] for HTTP. It shares them with no other.
	Connect(key UpstreamKey) Connections
}

// Connections are those to one upstream.
type Connections interface {
	// IdleConnections returns how many connections no request uses, and how many there are that any number of requests
	// share.
	IdleConnections() (idle, shared int)
	// CloseIdleConnections closes the connections that no request uses.
	CloseIdleConnections()
	// Close closes all connections, and so ends the requests that use them.
	Close()
}

// StreamDialer are connections to an upstream that is not reached by HTTP.
type StreamDialer interface {
	Connections
	// DialCheck opens a connection for an active check, as the transport says, with TLS where the scheme is tls. Close
	// does not end it.
	DialCheck(ctx context.Context) (net.Conn, error)
}

// RoundTripper sends requests to one upstream over connections that it keeps. Health checks use RoundTrip, requests of
// clients use Sender.
type RoundTripper interface {
	http.RoundTripper
	Sender
	Connections
}

// Sender sends requests without copying what a caller has at hand.
type Sender interface {
	// Send sends the request by the call if it goes over HTTP/1.1, and otherwise has shared send it. It returns the head
	// of the response.
	Send(call *client.RoundTrip, r *http.Request, shared SharedSender) (*http.Response, error)
	// Shares reports whether requests may go over connections that other requests use at the same time (HTTP/2). Where it
	// is false every request goes by its call.
	Shares() bool
}

// SharedSender is the caller of [Sender] where a request goes over HTTP/2.
type SharedSender interface {
	// SendShared sends the request over a connection to the upstream.
	SendShared(through *http2.Upstream, r *http.Request) (*http.Response, error)
}

// secure reports whether a scheme uses TLS, so that the host of the server counts.
func secure(scheme string) bool { return scheme == "https" || scheme == "tls" }

// way is an UpstreamKey without its endpoint.
type way struct {
	scheme, host string
	dialer       Dialer
}

// Upstream is an endpoint reached in one way; it owns the idle connections and TLS sessions.
type Upstream struct {
	endpoint *Endpoint
	way
	// url is scheme://address.
	url         string
	connections Connections
	// trips is connections for HTTP, otherwise nil.
	trips RoundTripper
	// wanted is the number of members that keep connections; refs counts all members.
	refs, wanted int32
	inFlight     atomic.Int64
	// draining is set when connections are closed after their current request.
	draining atomic.Bool
}

func newUpstream(endpoint *Endpoint, key UpstreamKey) *Upstream {
	connections := key.Dialer.Connect(key)
	trips, _ := connections.(RoundTripper)
	return &Upstream{
		endpoint: endpoint, way: way{key.Scheme, key.Host, key.Dialer},
		url: key.Scheme + "://" + endpoint.key.Address.String(), connections: connections, trips: trips,
	}
}

// Endpoint returns the endpoint that is reached.
func (u *Upstream) Endpoint() *Endpoint { return u.endpoint }

// Address returns the endpoint's address as text: host:port, IPv6 in brackets.
func (u *Upstream) Address() string { return u.url[len(u.scheme)+len("://"):] }

// InFlight returns how many requests, connections or sessions use the upstream now, those of all pools together.
func (u *Upstream) InFlight() int64 { return u.inFlight.Load() }

// Scheme returns that of its key.
func (u *Upstream) Scheme() string { return u.scheme }

// Connections returns the connections to the upstream.
func (u *Upstream) Connections() Connections { return u.connections }

// RoundTripper returns the HTTP client of the upstream, and nil where it is not reached by HTTP.
func (u *Upstream) RoundTripper() RoundTripper { return u.trips }

func (u *Upstream) begin() {
	u.inFlight.Add(1)
	u.endpoint.inFlight.Add(1)
}

func (u *Upstream) done(outcome Outcome) {
	u.endpoint.done(outcome)
	// A request may have picked the upstream just before it began to drain: the last one closes the
	// connections.
	if u.inFlight.Add(-1) == 0 && u.draining.Load() {
		u.connections.CloseIdleConnections()
	}
}

// drain closes the connections as soon as no request uses them, or allows keeping them again. Requests in
// flight are not affected.
func (u *Upstream) drain(on bool) {
	if u.draining.Swap(on) != on && on {
		u.connections.CloseIdleConnections()
	}
}
