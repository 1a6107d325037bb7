package router

import "github.com/sluiceproxy/sluice/loadbalancer"

// pools holds the pools of all services between compilations. A compilation only notes what pools are to become: a pool
// that serves keeps its servers, and a new one has none, until the table that uses it is activated.
type pools struct {
	registry *loadbalancer.Registry
	known    map[string]*loadbalancer.Pool
	pending  map[string]loadbalancer.PoolSpec
	// suspects are the pools whose service was dropped or built anew since the last activation.
	suspects map[string]struct{}
}

func newPools(registry *loadbalancer.Registry) *pools {
	return &pools{
		registry: registry,
		known:    map[string]*loadbalancer.Pool{},
		pending:  map[string]loadbalancer.PoolSpec{},
		suspects: map[string]struct{}{},
	}
}

// take returns the pool of a service, new or as it is, and notes its next specification.
func (p *pools) take(spec loadbalancer.PoolSpec) *loadbalancer.Pool {
	pool, known := p.known[spec.Name]
	if !known {
		pool = p.registry.NewPool(spec.Name)
		p.known[spec.Name] = pool
	}
	p.pending[spec.Name] = spec
	return pool
}

// suspect notes that a pool may not be used any more. A specification that no activation has applied is dropped.
func (p *pools) suspect(name string) {
	delete(p.pending, name)
	if _, known := p.known[name]; known {
		p.suspects[name] = struct{}{}
	}
}

// activate applies the pending specifications and releases the suspects that used denies, unless routes may still serve
// from them (keep).
func (p *pools) activate(used func(name string) bool, keep bool) {
	for name, spec := range p.pending {
		p.registry.Configure(p.known[name], spec)
	}
	p.pending = map[string]loadbalancer.PoolSpec{} // A cleared one would keep its size, and cost it with each walk.
	suspects := map[string]struct{}{}
	for name := range p.suspects {
		switch {
		case used(name):
		case keep:
			suspects[name] = struct{}{}
		default:
			p.registry.Release(name)
			delete(p.known, name)
		}
	}
	p.suspects = suspects
}
