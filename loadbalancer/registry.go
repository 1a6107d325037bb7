package loadbalancer

import (
	"iter"
	"maps"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer/health"
)

// FlushInterval is how long after a pool's last snapshot the next one is published when its endpoints keep changing. The
// first change after a quiet time is published at once.
const FlushInterval = 10 * time.Millisecond

// slowdown is how many times as long as a snapshot took to make its pool waits for the next, so that no pool takes more than a
// tenth of the writer's time. It never waits for longer than longestWait: on a machine without time to spare, endpoints that have left
// would go on getting requests for seconds.
const (
	slowdown    = 10
	longestWait = 200 * time.Millisecond
)

// Options are what a Registry needs from outside.
type Options struct {
	// Prober runs active checks; without one nobody is checked.
	Prober *health.Prober
	// Took hears, for each snapshot, how long ago the first of the changes in it was noticed (dynamic.EndpointSet.Noticed);
	// it may be nil.
	Took func(time.Duration)
	// Report hears of endpoints that are taken out or come back; it may be nil, and must not block.
	Report func(Event)
}

// Registry owns the pools and the state of their endpoints. All of its methods but Changed, SetZone and Pools belong
// to one goroutine, the single writer; readers have the Pools.
type Registry struct {
	options   Options
	epoch     time.Time
	pools     map[string]*Pool
	public    sync.Map // the pools for readers, by name
	sets      map[string]*set
	endpoints map[EndpointKey]*Endpoint
	upstreams map[UpstreamKey]*Upstream
	probes    map[ProbeKey]*probe
	prober    *health.Prober
	zone      string
	events    *inbox
	// round counts what makes tallies out of date.
	round uint64
	// stale are the pools whose snapshot is behind what is known.
	stale map[*Pool]struct{}
	// ejected are the members that are out for a time, warming the pools with a member in its slow start and when it ends.
	ejected map[*Member]struct{}
	warming map[*Pool]time.Duration
	// leaving are the upstreams that are gone and whose last requests have a time limit.
	leaving map[*Upstream]limit
}

// limit is when the last requests to an upstream end, and the pool that says so.
type limit struct {
	end  time.Duration
	pool *Pool
}

// NewRegistry returns a registry without pools.
func NewRegistry(options Options) *Registry {
	return &Registry{
		options:   options,
		epoch:     time.Now(),
		pools:     map[string]*Pool{},
		sets:      map[string]*set{},
		endpoints: map[EndpointKey]*Endpoint{},
		upstreams: map[UpstreamKey]*Upstream{},
		probes:    map[ProbeKey]*probe{},
		prober:    options.Prober,
		events:    newInbox(),
		stale:     map[*Pool]struct{}{},
		ejected:   map[*Member]struct{}{},
		warming:   map[*Pool]time.Duration{},
		leaving:   map[*Upstream]limit{},
	}
}

// Changed returns a channel that holds a value when endpoints have failed or recovered; Flush takes that in.
func (r *Registry) Changed() <-chan struct{} { return r.events.changed }

// SetZone says in which zone this instance runs; until then, and when it is empty, zones don't matter. It may be called from any
// goroutine, and takes effect with a Flush.
func (r *Registry) SetZone(zone string) { r.events.moved(zone) }

// Pools yields the pools. It may be called from any goroutine.
func (r *Registry) Pools() iter.Seq[*Pool] {
	return func(yield func(*Pool) bool) {
		r.public.Range(func(_, pool any) bool { return yield(pool.(*Pool)) })
	}
}

// Lookup returns the pool of a service by its qualified name. It may be called from any goroutine.
func (r *Registry) Lookup(name string) (*Pool, bool) {
	pool, known := r.public.Load(name)
	if !known {
		return nil, false
	}
	return pool.(*Pool), true
}

func (r *Registry) report(event Event) {
	if r.options.Report != nil {
		r.options.Report(event)
	}
}

// Pool returns the pool of that name, created or reconfigured as the specification says, and published. An equal
// specification changes nothing, and a changed one keeps the position and what it has in common with the old one. The
// Servers of the specification must not be changed afterwards.
func (r *Registry) Pool(spec PoolSpec) *Pool {
	pool, known := r.pools[spec.Name]
	switch {
	case !known:
		pool = newPool(spec.Name, r.epoch, r.events)
		r.pools[spec.Name] = pool
		r.public.Store(spec.Name, pool)
	case pool.spec.equal(&spec):
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
	r.public.Delete(name)
	delete(r.stale, pool)
	delete(r.warming, pool)
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

// Flush publishes the pools that changed, each at most every FlushInterval, and less often where that is costly, but within
// 200 ms. It returns when to call it again, or the zero time when nothing is left to do.
func (r *Registry) Flush(now time.Time) time.Time {
	instant := now.Sub(r.epoch)
	r.judge(instant)
	var next time.Time
	for pool := range r.stale {
		due := pool.published.Add(pool.pace())
		if now.Before(due) {
			next = sooner(next, due)
			continue
		}
		delete(r.stale, pool)
		pool.published = now
		begun := time.Now()
		r.refresh(pool, instant)
		pool.cost, pool.costBefore = time.Since(begun), pool.cost
		if r.options.Took != nil && !pool.noticed.IsZero() {
			r.options.Took(time.Since(pool.noticed))
		}
		pool.noticed = time.Time{}
		if r.reconsider(pool, instant) {
			next = sooner(next, now.Add(pool.pace()))
		}
	}
	if at := r.due(); at != 0 {
		next = sooner(next, r.epoch.Add(at))
	}
	return next
}

// pace returns how long after its last snapshot a pool gets the next.
func (p *Pool) pace() time.Duration {
	return min(max(FlushInterval, slowdown*min(p.cost, p.costBefore)), longestWait)
}

// sooner returns the earlier of two times, of which zero is none.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// Endpoints yields every endpoint that a pool uses.
func (r *Registry) Endpoints() iter.Seq[*Endpoint] { return maps.Values(r.endpoints) }
