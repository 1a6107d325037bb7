package forward

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward/servertls"
	"github.com/sluiceproxy/sluice/http1/client"
	http2 "github.com/sluiceproxy/sluice/http2/client"
	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/httpio/descriptors"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/static"
)

const (
	// tlsHandshakeTimeout is how long an endpoint may take for its TLS handshake.
	tlsHandshakeTimeout = 10 * time.Second
	// expectContinueTimeout is how long an endpoint may take to say 100 Continue before it gets the body all the same.
	expectContinueTimeout = time.Second
	// keepAlive is how long a connection is without bytes until TCP keep-alive probes begin.
	keepAlive = 30 * time.Second
	// maxResponseHeaderBytes bounds the head of a response.
	maxResponseHeaderBytes = 1 << 20
)

// dialFunc is [net.Dialer.DialContext].
type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// Transport makes connections to endpoints as one serversTransport says. Upstreams share its settings, and never a
// connection or a TLS session.
type Transport struct {
	name     string
	tls      *servertls.Settings
	identity Identity // nil without the option spiffe
	dial     dialFunc // nil for a [net.Dialer]
	reserve  *descriptors.Limit
	control  httpio.Control // nil permits all
	timeouts dynamic.ForwardingTimeouts
	maxIdle  int
	noHTTP2  bool
	client   client.Resources
	streams  http2.Resources
	memory   memory
}

// NewTransport returns the transport that the configuration describes; name is its qualified name, for errors. It fails
// when anything that security hangs on can't be loaded. A transport with the option spiffe needs an identity.
func NewTransport(name string, config *dynamic.ServersTransport, identity Identity) (*Transport, error) {
	settings, err := newTLS(config, identity)
	if err != nil {
		return nil, fmt.Errorf("serversTransport %q: %w", name, err)
	}
	t := &Transport{name: name, tls: settings, maxIdle: config.MaxIdleConnsPerHost, noHTTP2: config.DisableHTTP2}
	if config.Spiffe != nil {
		t.identity = identity
	}
	if t.maxIdle == 0 {
		t.maxIdle = static.DefaultMaxIdleConnsPerHost
	}
	if config.ForwardingTimeouts == nil {
		t.timeouts.SetDefaults()
	} else {
		t.timeouts = *config.ForwardingTimeouts
	}
	return t, nil
}

// DefaultTransport returns the configuration of the transport that the static option serversTransport describes.
func DefaultTransport(config *static.ServersTransport) *dynamic.ServersTransport {
	transport := &dynamic.ServersTransport{
		InsecureSkipVerify:  config.InsecureSkipVerify,
		RootCAs:             config.RootCAs,
		MaxIdleConnsPerHost: config.MaxIdleConnsPerHost,
	}
	transport.SetDefaults()
	timeouts := transport.ForwardingTimeouts
	timeouts.DialTimeout = config.ForwardingTimeouts.DialTimeout
	timeouts.ResponseHeaderTimeout = config.ForwardingTimeouts.ResponseHeaderTimeout
	timeouts.IdleConnTimeout = config.ForwardingTimeouts.IdleConnTimeout
	if config.Spiffe != nil {
		transport.Spiffe = &dynamic.Spiffe{IDs: config.Spiffe.IDs, TrustDomain: config.Spiffe.TrustDomain}
	}
	return transport
}

// DialWith has connections made by dial instead of a [net.Dialer]. It comes before the first Connect.
func (t *Transport) DialWith(dial func(ctx context.Context, network, address string) (net.Conn, error)) {
	t.dial = dial
}

// Reserve has connections for requests fail with [descriptors.ErrReserved] that would take a descriptor in reserve,
// unless DialWith makes them. Those of active checks may take it. It comes before the first Connect.
func (t *Transport) Reserve(limit *descriptors.Limit) {
	t.reserve, t.memory.tunnels.Reserve = limit, limit
}

// Control has control decide about each connection, also those of active checks, unless DialWith makes them. It comes
// before the first Connect.
func (t *Transport) Control(control httpio.Control) { t.control = control }

// dialer returns what makes connections to an upstream.
func (t *Transport) dialer(key *loadbalancer.UpstreamKey) dialFunc {
	if t.dial != nil {
		return t.dial
	}
	control := t.control
	if !key.Checks() {
		control = httpio.Controls(t.control, t.reserve.Control)
	}
	dialer := &net.Dialer{Control: control, KeepAlive: -1}
	return dialer.DialContext
}

// Name returns the transport's qualified name.
func (t *Transport) Name() string { return t.name }

// Connect returns the connections to one upstream: HTTP/1.1 for http, HTTP/2 or HTTP/1.1 by ALPN for https, HTTP/2
// without TLS for h2c. Proxies named by environment variables are never used.
func (t *Transport) Connect(key loadbalancer.UpstreamKey) loadbalancer.Connections {
	address := key.Endpoint.Address.String()
	limit := time.Duration(t.timeouts.DialTimeout)
	connect := t.dialer(&key)
	dial := func(ctx context.Context) (net.Conn, error) {
		return connect(httpio.WithLimit(ctx, limit), "tcp", address)
	}
	if key.Scheme != "http" {
		dial = keptAlive(dial)
	}
	if key.Scheme == "https" && t.identity != nil {
		dial = dialAs(t.identity, dial)
	}
	config := client.Config{
		Dial:                  dial,
		MaxIdle:               t.maxIdle,
		IdleTimeout:           time.Duration(t.timeouts.IdleConnTimeout),
		ResponseHeaderTimeout: time.Duration(t.timeouts.ResponseHeaderTimeout),
		ContinueTimeout:       expectContinueTimeout,
		MaxHeaderBytes:        maxResponseHeaderBytes,
	}
	switch key.Scheme {
	case "http":
		config.KeepAlive = keepAlive
	case "https":
		config.TLS = t.tls.ForUpstream(&key, t.identity == nil)
		config.HandshakeTimeout = tlsHandshakeTimeout
	}
	c := &connections{transport: t, upgrades: t.client.NewUpstream(&config)}
	switch {
	case key.Scheme == "h2c":
		c.multiplexed = t.clear(dial)
	case config.TLS != nil && !t.noHTTP2:
		c.multiplexed = t.negotiated(dial, config.TLS)
		config.HTTP2 = c.multiplexed.take
		c.main = t.client.NewUpstream(&config)
	default:
		c.main = c.upgrades
	}
	return c
}

// keptAlive sets keep-alive on each connection that is dialed.
func keptAlive(dial func(ctx context.Context) (net.Conn, error)) func(ctx context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		conn, err := dial(ctx)
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: keepAlive}) // as a net.Dialer does
		}
		return conn, err
	}
}
