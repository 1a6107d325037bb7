package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward/relay"
	"github.com/sluiceproxy/sluice/forward/servertls"
	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/httpio/descriptors"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/static"
)

// defaultKeepAlive is what dialKeepAlive 0 means.
const defaultKeepAlive = 15 * time.Second

// dialFunc is [net.Dialer.DialContext].
type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// Transport makes connections to endpoints as one serversTransport of TCP says. Each client gets one of its own.
type Transport struct {
	name     string
	dial     dialFunc // nil for a [net.Dialer]
	reserve  *descriptors.Limit
	control  httpio.Control // nil permits all
	timeout  time.Duration
	tls      *servertls.Settings
	identity servertls.Identity // nil without the option spiffe
	proxy    proxyHeader
	limits   relay.Options
	engine   relay.Engine
}

// NewTransport returns the transport that the configuration describes; name is its qualified name, for errors. It fails
// when an option is invalid, or anything that security depends on can't be loaded. A transport with the option
// tls.spiffe needs an identity.
func NewTransport(
	name string, config *dynamic.TCPServersTransport, identity servertls.Identity,
) (*Transport, error) {
	t, err := newTransport(config, identity)
	if err != nil {
		return nil, fmt.Errorf("serversTransport %q: %w", name, err)
	}
	t.name = name
	return t, nil
}

func newTransport(config *dynamic.TCPServersTransport, identity servertls.Identity) (*Transport, error) {
	switch {
	case config.DialTimeout < 0:
		return nil, fmt.Errorf("dialTimeout %s is negative", time.Duration(config.DialTimeout))
	case config.IdleTimeout < 0:
		return nil, fmt.Errorf("idleTimeout %s is negative", time.Duration(config.IdleTimeout))
	}
	if err := CheckProxyProtocol(config.ProxyProtocol); err != nil {
		return nil, err
	}
	secure := config.TLS
	if secure == nil {
		secure = new(dynamic.TCPClientTLS)
	}
	settings, err := servertls.New(secure, identity)
	if err != nil {
		return nil, fmt.Errorf("tls.%w", err)
	}
	t := &Transport{
		timeout: time.Duration(config.DialTimeout),
		tls:     settings, proxy: newProxyHeader(config.ProxyProtocol),
		limits: relay.Options{
			IdleTimeout: time.Duration(config.IdleTimeout), TerminationDelay: time.Duration(config.TerminationDelay),
			KeepAlive: cmp.Or(time.Duration(config.DialKeepAlive), defaultKeepAlive),
		},
	}
	if secure.Spiffe != nil {
		t.identity = identity
	}
	return t, nil
}

// DialWith has connections made by dial instead of a [net.Dialer]. It comes before the first Connect.
func (t *Transport) DialWith(dial func(ctx context.Context, network, address string) (net.Conn, error)) {
	t.dial = dial
}

// Reserve has connections for clients fail with [descriptors.ErrReserved] that would take a descriptor in reserve,
// unless DialWith makes them. Those of active checks may take it. It comes before the first Connect.
func (t *Transport) Reserve(limit *descriptors.Limit) { t.reserve, t.engine.Reserve = limit, limit }

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
	dialer := &net.Dialer{Control: control, KeepAlive: -1} // The relay begins the keep-alive.
	return dialer.DialContext
}

// CheckProxyProtocol returns an error that names an invalid option of a PROXY header; nil is valid.
func CheckProxyProtocol(config *dynamic.ProxyProtocol) error {
	switch {
	case config == nil:
		return nil
	case config.Version != 1 && config.Version != 2:
		return fmt.Errorf("proxyProtocol.version %d is neither 1 nor 2", config.Version)
	case config.TLVs && config.Version != 2:
		return errors.New("proxyProtocol.tlvs needs proxyProtocol.version 2")
	}
	return nil
}

// DefaultTransport returns the configuration of the transport that the static option tcpServersTransport describes; nil
// is an absent option.
func DefaultTransport(config *static.TCPServersTransport) *dynamic.TCPServersTransport {
	transport := new(dynamic.TCPServersTransport)
	transport.SetDefaults()
	if config == nil {
		return transport
	}
	transport.DialTimeout = config.DialTimeout
	transport.DialKeepAlive = config.DialKeepAlive
	transport.TerminationDelay = config.TerminationDelay
	if secure := config.TLS; secure != nil {
		transport.TLS = &dynamic.TCPClientTLS{InsecureSkipVerify: secure.InsecureSkipVerify, RootCAs: secure.RootCAs}
		if secure.Spiffe != nil {
			transport.TLS.Spiffe = &dynamic.Spiffe{IDs: secure.Spiffe.IDs, TrustDomain: secure.Spiffe.TrustDomain}
		}
	}
	return transport
}

// Name returns the transport's qualified name.
func (t *Transport) Name() string { return t.name }

// Connect returns the connections to one upstream: with TLS for the scheme tls, and plain TCP otherwise.
func (t *Transport) Connect(key loadbalancer.UpstreamKey) loadbalancer.Connections {
	c := &connections{transport: t, connect: t.dialer(&key), address: key.Endpoint.Address.String()}
	if key.Scheme == "tls" {
		c.tls = t.tls.ForUpstream(&key, t.identity == nil)
	}
	return c
}
