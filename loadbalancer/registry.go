package loadbalancer

import (
	"iter"
	"maps"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

// FlushInterval is how long after a pool's last snapshot the next one is published when its endpoints keep changing. The
// first change after a quiet time is published at once.
const FlushInterval = 10 * time.Millisecond

// Registry owns the pools and the state of their endpoints. All of its methods belong to one goroutine, the single
// writer; readers have the Pools.
type Registry struct {
	pools     map[string]*Pool
	sets      map[string]*set
	endpoints map[EndpointKey]*Endpoint
	upstreams map[UpstreamKey]*Upstream
	// stale are the pools whose snapshot is behind their endpoint sets.
	stale map[*Pool]struct{}
	// took hears how long after it was noticed a change is in a snapshot.
	took func(time.Duration)
}

// NewRegistry returns a registry without pools.
func NewRegistry() *Registry {
	return &Registry{
		pools:     map[string]*Pool{},
		sets:      map[string]*set{},
		endpoints: map[EndpointKey]*Endpoint{},
		upstreams: map[UpstreamKey]*Upstream{},
		stale:     map[*Pool]struct{}{},
		took:      func(time.Duration) {},
	}
}

// Measure has the function called for each snapshot that is published, with how long ago the first of the changes in it was
// noticed (dynamic.EndpointSet.Noticed).
func (r *Registry) Measure(took func(time.Duration)) { r.took = took }

// Pool returns the pool of that name, created or reconfigured as the specification says, and published. An equal
// specification changes nothing, and a changed one keeps the position and what it has in common with the old one. The
// Servers of the specification must not be changed afterwards.
func (r *Registry) Pool(spec PoolSpec) *Pool {
	pool, known := r.pools[spec.Name]
	switch {
	case !known:
		pool = newPool(spec.Name)
		r.pools[spec.Name] = pool
	case pool.spec.equal(spec):
		return pool
	}
	r.reconfigure(pool, spec)
	return pool
}

// Release forgets the pool of that name. Requests that still hold it are answered; its connections are closed after the
// last of them.
func (r *Registry) Release(name string) {
	pool, known := r.pools[name]
	if !known {
		return
	}
	delete(r.pools, name)
	delete(r.stale, pool)
	for _, server := range pool.servers {
		r.unsubscribe(pool, server.spec.SetKey)
		r.release(server.members)
	}
}

// Known reports whether the key's set has arrived, even if it is empty or deleted.
func (r *Registry) Known(key string) bool {
	set, known := r.sets[key]
	return known && set.arrived
}

// Apply takes a set in place of the one with the same key. Sets older than what is known are ignored, as are repetitions;
// a set of version 0 has no age. Pools show the change after the next Flush.
func (r *Registry) Apply(update dynamic.EndpointSet) {
	known := r.set(update.Key)
	if !known.take(update) {
		r.forget(known)
		return
	}
	for pool := range known.users {
		r.stale[pool] = struct{}{}
		if pool.noticed.IsZero() {
			pool.noticed = update.Noticed
		}
	}
	r.forget(known)
}

// Flush publishes the pools whose endpoints changed and whose last snapshot is at least FlushInterval old. It returns
// when to call it again, or the zero time when nothing is left to publish.
func (r *Registry) Flush(now time.Time) time.Time {
	var next time.Time
	for pool := range r.stale {
		due := pool.published.Add(FlushInterval)
		if now.Before(due) {
			if next.IsZero() || due.Before(next) {
				next = due
			}
			continue
		}
		delete(r.stale, pool)
		pool.published = now
		r.refresh(pool)
		if !pool.noticed.IsZero() {
			r.took(time.Since(pool.noticed))
			pool.noticed = time.Time{}
		}
	}
	return next
}

// Endpoints yields every endpoint that a pool uses.
func (r *Registry) Endpoints() iter.Seq[*Endpoint] { return maps.Values(r.endpoints) }
