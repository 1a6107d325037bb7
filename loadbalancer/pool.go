package loadbalancer

import (
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/loadbalancer/picker"
	"github.com/sluiceproxy/sluice/loadbalancer/retry"
)

// Pool is the endpoints of one service.
type Pool struct {
	name     string
	epoch    time.Time
	events   *eventQueue
	snapshot atomic.Pointer[Snapshot]
	state    picker.State
	// nearState is the state of the picker for this instance's zone.
	nearState picker.State
	budget    atomic.Pointer[retry.Budget]
	pending   pendingQueue
	counters  Counters

	// What follows belongs to the single writer.
	dialer    Dialer
	declared  []ServerSpec
	policies  *sharedPolicies // nil before the first specification
	servers   []*server
	published time.Time
	// cost and costBefore are the durations of the last two snapshot builds. The shorter one counts, since the
	// other may have waited for the processor.
	cost, costBefore time.Duration
	// overLimit holds members whose ejection would exceed the limit of ejected members, with their last
	// failure; nil until there is one.
	overLimit map[*Member]Result
	// counts is the state of the members in the last round of results that needed it.
	counts memberCounts
	// panics is set while the share of healthy members is below the panic threshold.
	panics bool
	// stale is set while the snapshot is outdated, listed while the pool is in the registry's list of stale pools.
	stale, listed bool
	// noticed is when the first of the changes missing from the snapshot was observed; zero when unknown.
	noticed time.Time
}

// server is one server of a pool with its current members, sorted by address.
type server struct {
	pool *Pool
	// spec is the first of the specifications that make the server; weight is the sum of theirs.
	spec   *ServerSpec
	weight uint64
	// set is the endpoint set, nil for a server with an address; place is the index of the server in set.users.
	set     *set
	place   int
	members []*Member
}

func newPool(name string, epoch time.Time, events *eventQueue) *Pool {
	pool := &Pool{name: name, epoch: epoch, events: events}
	pool.snapshot.Store(&Snapshot{picker: picker.New(picker.Strategy{}, candidates{}, nil)})
	pool.state.Cursor.Store(rand.Uint64())
	pool.nearState.Cursor.Store(rand.Uint64())
	return pool
}

// is reports whether the pool has the specification.
func (p *Pool) is(spec *PoolSpec) bool {
	return p.dialer == spec.Dialer && p.policies.Policies == spec.Policies && slices.Equal(p.declared, spec.Servers)
}

// Name returns the name of the pool, of which [SplitPoolName] returns the service that it belongs to.
func (p *Pool) Name() string { return p.name }

// Instant converts a time to the form of Request.Now and Result.Now. It does not read the clock.
func (p *Pool) Instant(t time.Time) time.Duration { return t.Sub(p.epoch) }

// Timed reports whether the time to the response head must be measured.
func (p *Pool) Timed() bool { return p.snapshot.Load().timed }

// Up reports whether the pool has an endpoint that is not known to be unhealthy.
func (p *Pool) Up() bool { return p.snapshot.Load().up }

// Present reports whether a source of endpoints still declares the service: it has a server with an address, or an
// endpoint set that is not deleted, with endpoints or without.
func (p *Pool) Present() bool { return p.snapshot.Load().present }

// DrainTime returns how long the connections to an endpoint may last that leaves now; 0 is no limit.
func (p *Pool) DrainTime() time.Duration {
	if policies := p.snapshot.Load().policies; policies != nil {
		return policies.DrainTime
	}
	return 0
}

// Budget returns the retry budget. It survives every change of the pool except a change of its percentage.
func (p *Pool) Budget() *retry.Budget { return p.budget.Load() }

// Counters returns the counters of the pool since its creation.
func (p *Pool) Counters() *Counters { return &p.counters }

// Snapshot returns the current snapshot.
func (p *Pool) Snapshot() *Snapshot { return p.snapshot.Load() }
