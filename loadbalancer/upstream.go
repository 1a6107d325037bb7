package loadbalancer

import (
	"net/http"
	"sync/atomic"
)

// UpstreamKey tells one way to speak to an endpoint from every other. What differs in it never shares a connection.
type UpstreamKey struct {
	// Endpoint is who is spoken to.
	Endpoint EndpointKey
	// Scheme is http, https or h2c.
	Scheme string
	// Host is the authority of the server's URL, whose host name TLS asks for and verifies. Empty unless Scheme is
	// https, and where the server is known by nothing but its address.
	Host string
	// Dialer is the transport.
	Dialer Dialer
}

// Dialer is a transport: it makes the connections of each upstream. It is compared by identity, so it must be a pointer,
// and an unchanged transport must stay the same pointer for its connections to survive.
type Dialer interface {
	// RoundTripper returns a new round tripper for the upstream, which shares connections with no other.
	RoundTripper(key UpstreamKey) RoundTripper
}

// RoundTripper sends requests to one upstream over connections that it keeps.
type RoundTripper interface {
	http.RoundTripper
	// CloseIdleConnections closes the connections that no request uses.
	CloseIdleConnections()
	// Close closes all connections, and so ends the requests that use them.
	Close()
}

// Upstream is an endpoint spoken to in one way; it owns the idle connections and TLS sessions.
type Upstream struct {
	key      UpstreamKey
	endpoint *Endpoint
	address  string
	trips    RoundTripper
	refs     int
	// wanted is how many members keep connections; refs are all.
	wanted   int
	inFlight atomic.Int64
	// draining says that connections are not kept after their last request.
	draining atomic.Bool
}

// Key returns what tells the upstream from every other.
func (u *Upstream) Key() UpstreamKey { return u.key }

// Endpoint returns who is spoken to.
func (u *Upstream) Endpoint() *Endpoint { return u.endpoint }

// Address returns the endpoint's address as text: host:port, IPv6 in brackets.
func (u *Upstream) Address() string { return u.address }

// Scheme returns http, https or h2c.
func (u *Upstream) Scheme() string { return u.key.Scheme }

// RoundTripper returns what sends requests to the upstream.
func (u *Upstream) RoundTripper() RoundTripper { return u.trips }

func (u *Upstream) begin() {
	u.inFlight.Add(1)
	u.endpoint.inFlight.Add(1)
}

func (u *Upstream) done(outcome Outcome) {
	u.endpoint.done(outcome)
	// A request may have picked the upstream just before it began to drain: whoever is last closes its connections.
	if u.inFlight.Add(-1) == 0 && u.draining.Load() {
		u.trips.CloseIdleConnections()
	}
}

// drain closes the connections as soon as no request uses them, or lets them be kept again. Requests on their way keep working.
func (u *Upstream) drain(on bool) {
	if u.draining.Swap(on) != on && on {
		u.trips.CloseIdleConnections()
	}
}
