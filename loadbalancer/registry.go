package loadbalancer

import (
	"iter"
	"maps"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer/health"
)

// FlushInterval is the least time between two snapshots of a pool whose endpoints keep changing. The first
// change after a quiet period is published at once.
const FlushInterval = 10 * time.Millisecond

// slowdown bounds the cost of snapshots: a pool waits this many times the duration of its last build before the
// next one, so that no pool takes more than a tenth of the writer's time. longestWait bounds that wait, because
// on a busy machine endpoints that have left would otherwise get requests for seconds.
const (
	slowdown    = 10
	longestWait = 200 * time.Millisecond
)

// Options are the dependencies of a Registry.
type Options struct {
	// Prober runs active checks; nil disables them.
	Prober *health.Prober
	// Took is called for each snapshot with the time since the first of its changes was observed
	// (dynamic.EndpointSet.Noticed); it may be nil.
	Took func(time.Duration)
	// Report is called when an endpoint is taken out or returns; it may be nil, and must not block.
	Report func(Event)
	// Undrained is called when a drain ends because its time is over; it may be nil, and must not block.
	Undrained func(Drain)
	// Withheld is called when a drain by hand begins to hold an endpoint that has joined, or the last one that could get
	// requests; it may be nil, and must not block.
	Withheld func(Withheld)
}

// Registry owns the pools and the state of their endpoints. Changed, SetZone, Pools, Lookup, and those that say so may
// be called from any goroutine; all other methods belong to one goroutine, the single writer.
type Registry struct {
	options   Options
	epoch     time.Time
	pools     sync.Map // by name
	sets      map[string]*set
	policies  map[Policies]*sharedPolicies
	endpoints map[EndpointKey]*Endpoint
	probes    map[ProbeKey]*probe
	prober    *health.Prober
	zone      string
	events    *eventQueue
	held      heldDrains
	// round is incremented whenever memberCounts become outdated.
	round uint64
	// stale holds the pools that were marked since their last snapshot; those that are no longer stale are skipped.
	stale []*Pool
	// ejected are the members that are ejected, warming the pools with a member in slow start and when that
	// ends.
	ejected map[*Member]struct{}
	warming map[*Pool]time.Duration
	// leaving are the removed upstreams whose last requests have a time limit.
	leaving map[*Upstream]limit
	// inherited are the reasons of failed checks of another process, which count until inheritedUntil; nil without any.
	inherited      map[failedKey]string
	inheritedUntil time.Duration
	// deadline is not after the first of the instants at which one of these ends; 0 without any.
	deadline time.Duration
}

// limit is the deadline of the last requests to an upstream, and the pool that set it.
type limit struct {
	end  time.Duration
	pool *Pool
}

// NewRegistry returns a registry without pools.
func NewRegistry(options Options) *Registry {
	return &Registry{
		options:   options,
		epoch:     time.Now(),
		sets:      map[string]*set{},
		policies:  map[Policies]*sharedPolicies{},
		endpoints: map[EndpointKey]*Endpoint{},
		probes:    map[ProbeKey]*probe{},
		prober:    options.Prober,
		events:    newEventQueue(),
		ejected:   map[*Member]struct{}{},
		warming:   map[*Pool]time.Duration{},
		leaving:   map[*Upstream]limit{},
	}
}

// Changed returns a channel that holds a value when endpoints have failed or recovered; Flush processes that.
func (r *Registry) Changed() <-chan struct{} { return r.events.changed }

// SetZone sets the zone of this instance; an empty zone, the default, disables zone-aware routing. Any
// goroutine may call it. It takes effect with the next Flush.
func (r *Registry) SetZone(zone string) { r.events.setZone(zone) }

// Pools yields the pools. It may be called from any goroutine.
func (r *Registry) Pools() iter.Seq[*Pool] {
	return func(yield func(*Pool) bool) {
		r.pools.Range(func(_, pool any) bool { return yield(pool.(*Pool)) })
	}
}

// Lookup returns the pool of a service by its qualified name. It may be called from any goroutine.
func (r *Registry) Lookup(name string) (*Pool, bool) {
	pool, known := r.pools.Load(name)
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

// NewPool returns a pool of that name without endpoints. It is not published, and nothing is checked or connected for
// it, before Configure.
func (r *Registry) NewPool(name string) *Pool { return newPool(name, r.epoch, r.events) }

// Configure gives a pool of NewPool the specification, whose name is the pool's, and publishes it: active checks begin.
// An equal specification changes nothing, and a changed one keeps the picker's position and what both have in common.
// The Servers of the specification must not be changed afterwards.
func (r *Registry) Configure(pool *Pool, spec PoolSpec) {
	if known, _ := r.Lookup(spec.Name); known == pool && pool.is(&spec) {
		return
	}
	r.pools.Store(spec.Name, pool)
	r.reconfigure(pool, spec)
}

// Release removes the pool of that name. Requests that still hold it are answered; its connections are closed
// after the last of them.
func (r *Registry) Release(name string) {
	pool, known := r.Lookup(name)
	if !known {
		return
	}
	r.pools.Delete(name)
	pool.stale = false // The next flush drops it from the list.
	delete(r.warming, pool)
	r.unshare(pool.policies)
	for _, server := range pool.servers {
		r.unsubscribe(server)
		r.release(server.members)
	}
}

// Known reports whether the key's set has arrived, even if it is empty or deleted.
func (r *Registry) Known(key string) bool {
	set, known := r.sets[key]
	return known && set.arrived
}

// Apply replaces the set with the same key. A set whose version is not newer is ignored; version 0 is never old. Pools
// show the change after the next Flush.
func (r *Registry) Apply(update dynamic.EndpointSet) {
	known := r.set(update.Key)
	if !known.take(update) {
		r.forget(known)
		return
	}
	for _, user := range known.users {
		r.mark(user.pool)
		if user.pool.noticed.IsZero() {
			user.pool.noticed = update.Noticed
		}
	}
	r.forget(known)
}

// mark has the pool published by a flush.
func (r *Registry) mark(pool *Pool) {
	pool.stale = true
	if !pool.listed {
		pool.listed = true
		r.stale = append(r.stale, pool)
	}
}

// Flush publishes the pools that changed, each at most every FlushInterval, and less often where that is
// costly, but within 200 ms. It returns when to call it again, or the zero time when nothing is left to do.
func (r *Registry) Flush(now time.Time) time.Time {
	instant := now.Sub(r.epoch)
	r.takeEvents(instant)
	var next time.Time
	stale := r.stale
	r.stale = nil
	for _, pool := range stale {
		pool.listed = false
		if !pool.stale {
			continue
		}
		if due := pool.published.Add(pool.pace()); now.Before(due) {
			next = sooner(next, due)
			r.mark(pool)
			continue
		}
		pool.stale, pool.published = false, now
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
	if len(r.ejected)+len(r.warming)+len(r.leaving) > 0 || !r.held.current.Load().end().IsZero() {
		next = sooner(next, r.epoch.Add(r.deadline))
	}
	return next
}

// pace returns the least time between the pool's last snapshot and the next.
func (p *Pool) pace() time.Duration {
	return min(max(FlushInterval, slowdown*min(p.cost, p.costBefore)), longestWait)
}

// sooner returns the earlier of two times; zero means none.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// Endpoints yields every endpoint that a pool uses.
func (r *Registry) Endpoints() iter.Seq[*Endpoint] { return maps.Values(r.endpoints) }
