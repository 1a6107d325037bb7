package loadbalancer

import (
	"net/netip"

	"github.com/sluiceproxy/sluice/loadbalancer/health"
)

// ProbeKey tells one active check of an endpoint from every other. Pools that check an endpoint in the same way share
// the check and its verdict.
type ProbeKey struct {
	// Upstream is who is checked, and how it is spoken to.
	Upstream UpstreamKey
	// Host is the authority of the server's URL.
	Host string
	// Path is the escaped path of the server's URL where the check's is relative to it.
	Path string
	// Check is the definition.
	Check health.Check
}

// probe is one active check and who wants to know.
type probe struct {
	key     ProbeKey
	runs    *health.Probe
	members map[*Member]struct{}
	// down is what the last verdict says, also of a check that this one takes the place of; an endpoint is up until one says otherwise.
	down bool
	// reason is why, as far as it was said.
	reason *string
}

// watch brings the member's check to the definition of its pool. The new one begins before the old one ends, whose verdict holds until
// there is another.
func (r *Registry) watch(m *Member) {
	old := m.probe
	if r.prober == nil || !m.pool.spec.Checked {
		m.probe, m.down = nil, false
		r.unwatch(m, old)
		return
	}
	key := ProbeKey{Upstream: m.upstream.key, Host: m.host, Check: m.pool.spec.Check}
	if key.Check.Relative() {
		key.Path = m.base
	}
	if old != nil && old.key == key {
		return
	}
	next := r.probes[key]
	if next == nil {
		next = &probe{key: key, members: map[*Member]struct{}{}, down: m.down, reason: m.remarks.check.Load()}
		r.probes[key] = next
		next.runs = r.prober.Start(health.Target{
			Scheme: key.Upstream.Scheme, Address: key.Upstream.Endpoint.Address, Host: key.Host, Path: key.Path,
			Connect: connector{key.Upstream.Dialer},
		}, key.Check, func(said health.Verdict) { r.events.judged(next, said) })
	}
	next.members[m] = struct{}{}
	m.probe, m.down = next, next.down
	m.remarks.check.Store(next.reason)
	r.unwatch(m, old)
}

// unwatch ends the member's interest in a check, and the check with the last interest.
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

// connector lets checks connect as requests do, over connections of their own.
type connector struct{ dialer Dialer }

// RoundTripper returns what sends the requests of one check.
func (c connector) RoundTripper(scheme string, address netip.AddrPort, host string) health.Client {
	key := UpstreamKey{Endpoint: EndpointKey{Source: "health", Address: address}, Scheme: scheme, Dialer: c.dialer}
	if scheme == "https" {
		key.Host = host
	}
	return c.dialer.RoundTripper(key)
}
