package loadbalancer

import (
	"context"
	"errors"
	"net"
	"net/netip"

	"github.com/sluiceproxy/sluice/loadbalancer/health"
)

// ProbeKey identifies one active check of an endpoint. Pools with equal keys share the check and its result.
type ProbeKey struct {
	// Upstream is the endpoint and how it is reached.
	Upstream *Upstream
	// Host is the authority of the server's URL.
	Host string
	// Path is the escaped path of the server's URL where the check's is relative to it.
	Path string
	// Check is the definition.
	Check health.Check
}

// probe is one active check with the members that use it.
type probe struct {
	key     ProbeKey
	runs    *health.Probe
	members map[*Member]struct{}
	// down is the last result, inherited from the check that this one replaces; an endpoint is up until a
	// result says otherwise.
	down bool
	// reason is the reason of the last result, nil before the first.
	reason *string
}

// watch updates the member's check to the definition of its pool. The new check starts before the old one
// stops; the old result is valid until there is a new one.
func (r *Registry) watch(m *Member) {
	old := m.probe
	if r.prober == nil || !m.pool.policies.Checked {
		m.probe, m.down = nil, false
		r.unwatch(m, old)
		return
	}
	key := ProbeKey{Upstream: m.upstream, Host: m.Host(), Check: m.pool.policies.Check}
	if key.Check.Relative() {
		key.Path = m.spec.base()
	}
	if old != nil && old.key == key {
		return
	}
	next := r.probes[key]
	if next == nil {
		next = &probe{key: key, members: map[*Member]struct{}{}, down: m.down, reason: m.statusReasons.check.Load()}
		if old == nil {
			r.inherit(m, next)
		}
		r.probes[key] = next
		next.runs = r.prober.Start(health.Target{
			Scheme: m.upstream.scheme, Address: m.upstream.endpoint.key.Address, Host: key.Host, Path: key.Path,
			Connect: connector{m.upstream.dialer},
		}, key.Check, func(result health.Result) { r.events.addCheckResult(next, result) })
	}
	next.members[m] = struct{}{}
	m.probe, m.down = next, next.down
	m.statusReasons.check.Store(next.reason)
	r.unwatch(m, old)
}

// unwatch removes the member from a check, and stops a check without members.
func (r *Registry) unwatch(m *Member, old *probe) {
	if old == nil {
		return
	}
	delete(old.members, m)
	if len(old.members) == 0 {
		old.runs.Stop()
		delete(r.probes, old.key)
	}
}

// checkSource is the source of the endpoints to which active checks connect.
const checkSource = "health"

// connector opens connections for checks as the transport does for requests, but never shares them.
type connector struct{ dialer Dialer }

// RoundTripper returns the client of one check.
func (c connector) RoundTripper(scheme string, address netip.AddrPort, host string) health.Client {
	client, _ := c.connections(scheme, address, host).(RoundTripper)
	return client
}

// Dial opens the connection of one check.
func (c connector) Dial(ctx context.Context, scheme string, address netip.AddrPort, host string) (net.Conn, error) {
	stream, ok := c.connections(scheme, address, host).(StreamDialer)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return stream.DialCheck(ctx)
}

func (c connector) connections(scheme string, address netip.AddrPort, host string) Connections {
	key := UpstreamKey{Endpoint: EndpointKey{Source: checkSource, Address: address}, Scheme: scheme, Dialer: c.dialer}
	if secure(scheme) {
		key.Host = host
	}
	return c.dialer.Connect(key)
}
