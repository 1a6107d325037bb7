package loadbalancer

import (
	"net/netip"
	"slices"
)

// Withheld is what a drain by hand keeps from requests some time after it began.
type Withheld struct {
	// Drain is the drain; where several hold the endpoint, the one that selects it most closely.
	Drain Drain
	// Pool is the name of the pool.
	Pool string
	// Endpoint is the address of an endpoint that has joined, which a drain of that address holds. Without it, no
	// endpoint of the pool gets requests any more while the drain holds one.
	Endpoint string
}

// selectors returns those that select a member of a pool, the closest ones first.
func selectors(pool string, address netip.AddrPort) [4]DrainSelector {
	protocol, service := SplitPoolName(pool)
	return [...]DrainSelector{
		{protocol, service, address}, {protocol, "", address}, {"", "", address}, {protocol, service, netip.AddrPort{}},
	}
}

// of returns the index of the drain that holds a member of a pool; -1 without one.
func (h *holds) of(pool string, address netip.AddrPort) int {
	if h == nil {
		return -1
	}
	for _, selector := range selectors(pool, address) {
		if at, held := h.selected[selector]; held {
			return at
		}
	}
	return -1
}

// withhold reports that no endpoint of a pool gets requests any more while a drain holds one. It is called once for
// each time at which that begins.
func (r *Registry) withhold(pool *Pool) {
	if r.options.Withheld == nil {
		return
	}
	drains := r.held.current.Load()
	for _, server := range pool.servers {
		for _, member := range server.members {
			if at := drains.of(pool.name, member.declared.Address); at >= 0 {
				r.options.Withheld(Withheld{Drain: drains.drains[at], Pool: pool.name})
				return
			}
		}
	}
}

// withholdNew reports that an endpoint has joined, if a drain of its address holds it. Those of all endpoints of a
// service are to hold new ones.
func (r *Registry) withholdNew(pool *Pool, address netip.AddrPort) {
	if r.options.Withheld == nil {
		return
	}
	drains := r.held.current.Load()
	if at := drains.of(pool.name, address); at >= 0 && drains.drains[at].Endpoint.IsValid() {
		r.options.Withheld(Withheld{Drain: drains.drains[at], Pool: pool.name, Endpoint: address.String()})
	}
}

// anyHeld reports whether a drain by hand holds a member.
func (c candidates) anyHeld() bool {
	return slices.ContainsFunc(c, func(one candidate) bool { return one.member.statusReasons.held.Load() })
}

// markUnserved notes in drains the pools of which no endpoint gets requests while the drain holds one.
func (r *Registry) markUnserved(known *holds, drains []Drain) {
	for pool := range r.Pools() {
		snapshot := pool.Snapshot()
		if !snapshot.withheld {
			continue
		}
		for i := range snapshot.candidates {
			at := known.of(pool.name, snapshot.candidates[i].member.upstream.endpoint.key.Address)
			if at >= 0 && !slices.Contains(drains[at].Unserved, pool.name) {
				drains[at].Unserved = append(drains[at].Unserved, pool.name)
			}
		}
	}
	for i := range drains {
		slices.Sort(drains[i].Unserved)
	}
}
