package loadbalancer

import (
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

// reconfigure brings a pool to its new specification and publishes it. Nothing old is released before everything new is
// in place, so that what both have in common keeps its connections.
func (r *Registry) reconfigure(pool *Pool, spec PoolSpec) {
	before := make(map[ServerSpec]*server, len(pool.servers))
	for _, server := range pool.servers {
		before[server.spec] = server
	}
	sameDialer := pool.spec.Dialer == spec.Dialer
	after := make(map[ServerSpec]*server, len(spec.Servers))
	pool.spec, pool.servers = spec, make([]*server, 0, len(spec.Servers))
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
	r.refresh(pool)
	delete(r.stale, pool)
	pool.noticed = time.Time{}
	for identity, old := range before {
		if !uses(pool.servers, identity.SetKey) {
			r.unsubscribe(pool, identity.SetKey)
		}
		r.release(old.members)
	}
}

func uses(servers []*server, key string) bool {
	for _, server := range servers {
		if server.spec.SetKey == key {
			return true
		}
	}
	return false
}

// refresh brings a pool's members to the sets as they are now and publishes them.
func (r *Registry) refresh(pool *Pool) {
	var gone []*Member
	for _, server := range pool.servers {
		endpoints := []dynamic.Endpoint{{Address: server.spec.Address}}
		if server.spec.SetKey != "" {
			endpoints = r.sets[server.spec.SetKey].endpoints
		}
		gone = r.follow(pool, server, endpoints, gone)
	}
	pool.publish()
	r.release(gone)
}

// follow gives the server a member for each of the endpoints, keeps those that it has, and returns gone with those
// appended that it no longer needs. Both lists of endpoints are sorted by address, so one walk over both is enough.
func (r *Registry) follow(pool *Pool, server *server, endpoints []dynamic.Endpoint, gone []*Member) []*Member {
	before, old := server.endpoints, server.members
	members := make([]*Member, 0, len(endpoints))
	server.leaving = 0
	for i := range endpoints {
		endpoint := &endpoints[i]
		if endpoint.Terminating {
			server.leaving++
		}
		// Equal addresses are the usual case and the cheaper question.
		for len(old) > 0 && before[0].Address != endpoint.Address && before[0].Address.Compare(endpoint.Address) < 0 {
			gone, old, before = append(gone, old[0]), old[1:], before[1:]
		}
		if len(old) > 0 && before[0].Address == endpoint.Address && before[0].UID == endpoint.UID {
			members, old, before = append(members, old[0]), old[1:], before[1:]
			continue
		}
		members = append(members, r.join(pool, server, endpoint))
	}
	server.endpoints, server.members = endpoints, members
	return append(gone, old...)
}

func (r *Registry) join(pool *Pool, server *server, endpoint *dynamic.Endpoint) *Member {
	key := UpstreamKey{
		Endpoint: EndpointKey{Source: server.spec.source(), Address: endpoint.Address, UID: endpoint.UID},
		Scheme:   server.spec.Scheme,
		Dialer:   pool.spec.Dialer,
	}
	if key.Scheme == "https" {
		key.Host = server.spec.Host
	}
	member := &Member{upstream: r.acquire(key), host: server.spec.Host, path: server.spec.Path}
	if member.host == "" {
		member.host = member.upstream.address
	}
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

func (r *Registry) release(members []*Member) {
	for _, member := range members {
		upstream := member.upstream
		if upstream.refs--; upstream.refs > 0 {
			continue
		}
		delete(r.upstreams, upstream.key)
		upstream.drop()
		if upstream.endpoint.refs--; upstream.endpoint.refs == 0 {
			delete(r.endpoints, upstream.endpoint.key)
		}
	}
}
