package loadbalancer

import (
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer/picker"
	"github.com/sluiceproxy/sluice/loadbalancer/retry"
)

// Pool is the endpoints of one service.
type Pool struct {
	name     string
	epoch    time.Time
	events   *inbox
	snapshot atomic.Pointer[Snapshot]
	state    picker.State
	// nearState is the state of the picker of this instance's zone.
	nearState picker.State
	budget    atomic.Pointer[retry.Budget]
	queue     queue
	counters  Counters

	// What follows belongs to the single writer.
	spec      PoolSpec
	servers   []*server
	published time.Time
	// cost and costBefore are how long the last two snapshots took to make. The shorter one counts, since the other may have waited
	// for the processor.
	cost, costBefore time.Duration
	// spared are members that would be out if that were not too many, and how they failed last.
	spared map[*Member]Result
	// tallied is how the members stood in the last round of verdicts that asked.
	tallied tally
	// panics says that health does not count at the moment.
	panics bool
	// noticed is the earliest that somebody heard of what the snapshot lacks; zero when nobody says.
	noticed time.Time
}

// server is one server of a pool with the members that it stands for right now.
type server struct {
	spec   ServerSpec
	weight uint64
	// endpoints are sorted by address; members are parallel to them.
	endpoints []dynamic.Endpoint
	members   []*Member
}

func newPool(name string, epoch time.Time, events *inbox) *Pool {
	pool := &Pool{name: name, epoch: epoch, events: events, spared: map[*Member]Result{}}
	pool.snapshot.Store(&Snapshot{picker: picker.New(picker.Strategy{}, nil, nil)})
	pool.state.Cursor.Store(rand.Uint64())
	pool.nearState.Cursor.Store(rand.Uint64())
	return pool
}

// Name returns the name of the service that the pool belongs to.
func (p *Pool) Name() string { return p.name }

// Instant returns the time as Request.Now and Result.Now want it. It does not read the clock.
func (p *Pool) Instant(t time.Time) time.Duration { return t.Sub(p.epoch) }

// Timed reports whether somebody wants to know how long the head of a response took.
func (p *Pool) Timed() bool { return p.snapshot.Load().timed }

// Up reports whether the pool has an endpoint that is in good health as far as anybody knows.
func (p *Pool) Up() bool { return p.snapshot.Load().up }

// Budget returns what may be spent on tries beyond the first. It outlives every change of the pool but that of its
// share.
func (p *Pool) Budget() *retry.Budget { return p.budget.Load() }

// Counters returns what happened in the pool since it exists.
func (p *Pool) Counters() *Counters { return &p.counters }

// Snapshot returns who may answer at this moment.
func (p *Pool) Snapshot() *Snapshot { return p.snapshot.Load() }
