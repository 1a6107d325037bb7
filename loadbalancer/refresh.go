package loadbalancer

import (
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer/retry"
)

// reconfigure applies a new specification to a pool and publishes it. The new state is acquired before the old
// one is released, so that what both have in common keeps its connections.
func (r *Registry) reconfigure(pool *Pool, spec PoolSpec) {
	before := make(map[ServerSpec]*server, len(pool.servers))
	for _, server := range pool.servers {
		before[server.spec] = server
	}
	sameDialer, policies := pool.dialer == spec.Dialer, pool.policies
	pool.policies = r.share(&spec.Policies)
	after := make(map[ServerSpec]*server, len(spec.Servers))
	if policies == nil || policies.RetryPercent != spec.RetryPercent {
		pool.budget.Store(retry.NewBudget(spec.RetryPercent))
	}
	pool.dialer, pool.declared, pool.servers = spec.Dialer, spec.Servers, make([]*server, 0, len(spec.Servers))
	for _, declared := range spec.Servers {
		identity := declared.identity()
		if same, duplicate := after[identity]; duplicate {
			same.weight = min(same.weight+clampWeight(declared.Weight), maxWeight)
			continue
		}
		next := &server{spec: identity, weight: clampWeight(declared.Weight)}
		if old, kept := before[identity]; kept && sameDialer {
			next.endpoints, next.members, old.members = old.endpoints, old.members, nil
		}
		after[identity] = next
		pool.servers = append(pool.servers, next)
		r.subscribe(pool, identity.SetKey)
	}
	now := time.Since(r.epoch)
	r.round++
	r.settle(pool)
	r.refresh(pool, now)
	pool.stale = false
	pool.noticed = time.Time{}
	for identity, old := range before {
		if !uses(pool.servers, identity.SetKey) {
			r.unsubscribe(pool, identity.SetKey)
		}
		r.release(old.members)
	}
	r.unshare(policies)
	r.reconsider(pool, now)
}

func uses(servers []*server, key string) bool {
	for _, server := range servers {
		if server.spec.SetKey == key {
			return true
		}
	}
	return false
}

// settle applies the policies of the new specification to the members that stay.
func (r *Registry) settle(pool *Pool) {
	for _, server := range pool.servers {
		for _, member := range server.members {
			r.watch(member)
			if member.ejected && !pool.policies.Outlier.Enabled() {
				r.readmit(member, longSince)
			}
		}
	}
}

// refresh updates the members of a pool from the current endpoint sets and publishes a snapshot.
func (r *Registry) refresh(pool *Pool, now time.Duration) {
	joins := longSince // The first members of a pool need no slow start.
	if pool.snapshot.Load().Serving() > 0 {
		joins = now
	}
	var gone []*Member
	for _, server := range pool.servers {
		endpoints := []dynamic.Endpoint{{Address: server.spec.Address}}
		if server.spec.SetKey != "" {
			endpoints = r.sets[server.spec.SetKey].endpoints
		}
		gone = r.follow(pool, server, endpoints, joins, gone)
	}
	r.round++
	pool.publish(now, r.zone)
	if pool.snapshot.Load().warming {
		r.warming[pool] = now + pool.policies.SlowStart
	}
	r.release(gone)
}

// follow updates the members of a server to the given endpoints, and returns gone with the members that are no
// longer needed appended. Both lists are sorted by address, so one pass is enough.
func (r *Registry) follow(
	pool *Pool, server *server, endpoints []dynamic.Endpoint, joins time.Duration, gone []*Member,
) []*Member {
	before, old := server.endpoints, server.members
	members := make([]*Member, 0, len(endpoints))
	for i := range endpoints {
		endpoint := &endpoints[i]
		// Equal addresses are the common case, and equality is cheaper than order.
		for len(old) > 0 && before[0].Address != endpoint.Address && before[0].Address.Compare(endpoint.Address) < 0 {
			gone, old, before = append(gone, old[0]), old[1:], before[1:]
		}
		var member *Member
		if len(old) > 0 && before[0].Address == endpoint.Address && before[0].UID == endpoint.UID {
			member, old, before = old[0], old[1:], before[1:]
		} else {
			member = r.join(pool, server, endpoint)
			member.since.Store(int64(joins))
		}
		member.zone, member.hints = endpoint.Zone, endpoint.ZoneHints
		member.weighs, member.terminating = server.weight > 0, endpoint.Terminating
		member.statusReasons.setTerminating(endpoint.Terminating)
		member.drain(!member.stays())
		members = append(members, member)
	}
	server.endpoints, server.members = endpoints, members
	return append(gone, old...)
}

func (r *Registry) join(pool *Pool, server *server, endpoint *dynamic.Endpoint) *Member {
	key := UpstreamKey{
		Endpoint: EndpointKey{Source: server.spec.source(), Address: endpoint.Address, UID: endpoint.UID},
		Scheme:   server.spec.Scheme,
		Dialer:   pool.dialer,
	}
	if key.Scheme == "https" {
		key.Host = server.spec.Host
	}
	member := &Member{
		pool: pool, upstream: r.acquire(key), host: server.spec.Host, path: server.spec.Path, declared: server.spec.URL,
		base: server.spec.base(),
	}
	if member.host == "" {
		member.host = member.upstream.address
	}
	if member.name = server.spec.URL; server.spec.SetKey != "" || member.name == "" {
		member.name = server.spec.Scheme + "://" + member.upstream.address
	}
	member.url = server.spec.Scheme + "://" + member.host
	if server.spec.SetKey != "" {
		member.url = server.spec.Scheme + "://" + member.upstream.address
	}
	member.upstream.wanted++
	member.upstream.drain(false) // Another pool may have drained it.
	r.watch(member)
	return member
}

func (r *Registry) acquire(key UpstreamKey) *Upstream {
	upstream, known := r.upstreams[key]
	if !known {
		endpoint, seen := r.endpoints[key.Endpoint]
		if !seen {
			endpoint = &Endpoint{key: key.Endpoint}
			r.endpoints[key.Endpoint] = endpoint
		}
		endpoint.refs++
		address := key.Endpoint.Address.String()
		upstream = &Upstream{key: key, endpoint: endpoint, address: address, trips: key.Dialer.RoundTripper(key)}
		r.upstreams[key] = upstream
	}
	upstream.refs++
	return upstream
}

// drain sets whether the connections to the member's endpoint are closed after their current request.
func (m *Member) drain(on bool) {
	if m.draining == on {
		return
	}
	m.draining = on
	if on {
		m.upstream.wanted--
	} else {
		m.upstream.wanted++
	}
	m.upstream.drain(m.upstream.wanted == 0)
}

func (r *Registry) release(members []*Member) {
	for _, member := range members {
		member.gone = true
		member.drain(true)
		r.unwatch(member, member.probe)
		delete(r.ejected, member)
		delete(member.pool.overLimit, member)
		upstream := member.upstream
		if upstream.refs--; upstream.refs > 0 {
			continue
		}
		delete(r.upstreams, upstream.key)
		if limited := member.pool.policies.DrainTime; limited > 0 && upstream.inFlight.Load() > 0 {
			r.leaving[upstream] = limit{end: later(time.Since(r.epoch), limited), pool: member.pool}
		}
		if upstream.endpoint.refs--; upstream.endpoint.refs == 0 {
			delete(r.endpoints, upstream.endpoint.key)
		}
	}
}
