package loadbalancer

import (
	"cmp"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer/retry"
)

// reconfigure applies a new specification to a pool and publishes it. The new state is acquired before the old
// one is released, so that what both have in common keeps its connections.
func (r *Registry) reconfigure(pool *Pool, spec PoolSpec) {
	before := make(map[ServerSpec]*server, len(pool.servers))
	for _, server := range pool.servers {
		before[server.spec.identity()] = server
	}
	sameDialer, policies := pool.dialer == spec.Dialer, pool.policies
	pool.policies = r.share(&spec.Policies)
	after := make(map[ServerSpec]*server, len(spec.Servers))
	if policies == nil || policies.RetryPercent != spec.RetryPercent {
		pool.budget.Store(retry.NewBudget(spec.RetryPercent))
	}
	pool.dialer, pool.declared, pool.servers = spec.Dialer, spec.Servers, make([]*server, 0, len(spec.Servers))
	for i := range spec.Servers {
		declared := &spec.Servers[i]
		identity := declared.identity()
		if same, duplicate := after[identity]; duplicate {
			same.weight = min(same.weight+clampWeight(declared.Weight), maxWeight)
			continue
		}
		next := &server{pool: pool, spec: declared, weight: clampWeight(declared.Weight)}
		old, kept := before[identity]
		switch {
		case kept:
			next.spec = old.spec // Its members have it.
		case len(spec.Servers) > 1:
			own := *declared // A member must not hold on to the specifications of all servers.
			next.spec = &own
		}
		if kept && sameDialer {
			next.members, old.members = old.members, nil
		}
		after[identity] = next
		pool.servers = append(pool.servers, next)
		r.subscribe(next)
	}
	now := time.Since(r.epoch)
	r.round++
	r.settle(pool)
	r.refresh(pool, now)
	pool.stale = false
	pool.noticed = time.Time{}
	for _, old := range before {
		r.unsubscribe(old)
		r.release(old.members)
	}
	r.unshare(policies)
	r.reconsider(pool, now)
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
		if server.set != nil {
			endpoints = server.set.endpoints
		}
		gone = r.follow(server, endpoints, joins, gone)
	}
	r.round++
	withheld := pool.snapshot.Load().withheld
	pool.publish(now, r.zone)
	if pool.snapshot.Load().withheld && !withheld {
		r.withhold(pool)
	}
	if pool.snapshot.Load().warming {
		r.warming[pool] = now + pool.policies.SlowStart
		r.expireAt(r.warming[pool])
	}
	r.release(gone)
}

// follow updates the members of a server to the given endpoints, and returns gone with the members that are no
// longer needed appended. Both lists are sorted by address, so one pass is enough.
func (r *Registry) follow(
	server *server, endpoints []dynamic.Endpoint, joins time.Duration, gone []*Member,
) []*Member {
	old, drains := server.members, r.held.current.Load()
	members := make([]*Member, 0, len(endpoints))
	for i := range endpoints {
		endpoint := &endpoints[i]
		// Equal addresses are the common case, and equality is cheaper than order.
		for len(old) > 0 && old[0].declared.Address != endpoint.Address &&
			old[0].declared.Address.Compare(endpoint.Address) < 0 {
			gone, old = append(gone, old[0]), old[1:]
		}
		var member *Member
		if len(old) > 0 && old[0].declared.Address == endpoint.Address && old[0].declared.UID == endpoint.UID {
			member, old = old[0], old[1:]
		} else {
			member = r.join(server, endpoint)
			member.since.Store(int64(joins))
		}
		member.declared = endpoint
		held := drains.has(server.pool.name, endpoint.Address)
		if member.statusReasons.setHeld(held) && !held {
			member.since.Store(int64(joins)) // It comes back.
		}
		member.weighs, member.terminating = server.weight > 0 && !held, endpoint.Terminating
		member.statusReasons.setTerminating(endpoint.Terminating)
		member.drain(!member.stays())
		members = append(members, member)
	}
	server.members = members
	return append(gone, old...)
}

func (r *Registry) join(server *server, endpoint *dynamic.Endpoint) *Member {
	spec := server.spec
	key := UpstreamKey{
		Endpoint: EndpointKey{Source: spec.source(), Address: endpoint.Address, UID: endpoint.UID},
		Scheme:   spec.Scheme,
		Dialer:   server.pool.dialer,
	}
	if secure(key.Scheme) {
		key.Host = spec.Host
	}
	if r.endpoints[key.Endpoint] == nil { // A pool that is configured anew has it already.
		r.withholdNew(server.pool, endpoint.Address)
	}
	member := &Member{pool: server.pool, spec: spec, upstream: r.acquire(key)}
	member.name, member.url = member.upstream.url, member.upstream.url
	if spec.SetKey == "" {
		member.name, member.url = cmp.Or(spec.URL, member.name), spec.Scheme+"://"+member.Host()
	}
	member.upstream.wanted++
	member.upstream.drain(false) // Another pool may have drained it.
	r.watch(member)
	return member
}

func (r *Registry) acquire(key UpstreamKey) *Upstream {
	endpoint, known := r.endpoints[key.Endpoint]
	if !known {
		endpoint = &Endpoint{key: key.Endpoint}
		r.endpoints[key.Endpoint] = endpoint
	}
	upstream := endpoint.upstream(way{key.Scheme, key.Host, key.Dialer})
	if upstream == nil {
		upstream = newUpstream(endpoint, key)
		endpoint.add(upstream)
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
		upstream.endpoint.drop(upstream)
		if limited := member.pool.policies.DrainTime; limited > 0 && upstream.inFlight.Load() > 0 {
			now := time.Since(r.epoch)
			r.leaving[upstream] = limit{end: later(now, limited), pool: member.pool}
			r.expireAt(min(r.leaving[upstream].end, now+leavingInterval))
		}
		if upstream.endpoint.unused() {
			delete(r.endpoints, upstream.endpoint.key)
		}
	}
}
