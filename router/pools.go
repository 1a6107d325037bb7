package router

import "github.com/sluiceproxy/sluice/loadbalancer"

// pools holds the pools of all services between compilations. A pool that serves keeps its old servers until the table
// that wants new ones is activated, so that it never stands empty while their endpoint sets are on their way.
type pools struct {
	registry *loadbalancer.Registry
	active   map[string]*loadbalancer.Pool
	pending  map[string]loadbalancer.PoolSpec
	// suspects are the pools whose service was dropped or built anew since the last activation.
	suspects map[string]struct{}
}

func newPools(registry *loadbalancer.Registry) *pools {
	return &pools{
		registry: registry,
		active:   map[string]*loadbalancer.Pool{},
		pending:  map[string]loadbalancer.PoolSpec{},
		suspects: map[string]struct{}{},
	}
}

// take returns the pool of a service, new or as it is, and notes what it shall become.
func (p *pools) take(spec loadbalancer.PoolSpec) *loadbalancer.Pool {
	if pool, known := p.active[spec.Name]; known {
		p.pending[spec.Name] = spec
		return pool
	}
	pool := p.registry.Pool(spec)
	p.active[spec.Name] = pool
	return pool
}

// suspect notes that a pool may not be used any more. What an earlier compilation wanted of it counts no more.
func (p *pools) suspect(name string) {
	delete(p.pending, name)
	if _, known := p.active[name]; known {
		p.suspects[name] = struct{}{}
	}
}

// activate applies what take noted and releases the suspects that used denies, unless routes may still serve from them.
func (p *pools) activate(used func(name string) bool, keep bool) {
	for name, spec := range p.pending {
		p.registry.Pool(spec)
		delete(p.pending, name)
	}
	for name := range p.suspects {
		switch {
		case used(name):
			delete(p.suspects, name)
		case !keep:
			p.registry.Release(name)
			delete(p.active, name)
			delete(p.suspects, name)
		}
	}
}
