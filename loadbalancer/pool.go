package loadbalancer

import (
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

// Pool is the endpoints of one service.
type Pool struct {
	name     string
	snapshot atomic.Pointer[Snapshot]
	cursor   atomic.Uint64

	// What follows belongs to the single writer.
	spec      PoolSpec
	servers   []*server
	published time.Time
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
	// leaving is how many of the endpoints are terminating.
	leaving int
}

// usable returns how many endpoints may get requests: all of them when terminating ones must help out.
func (s *server) usable(terminating bool) int {
	if terminating {
		return len(s.endpoints)
	}
	return len(s.endpoints) - s.leaving
}

func newPool(name string) *Pool {
	pool := &Pool{name: name}
	pool.snapshot.Store(&Snapshot{})
	pool.cursor.Store(rand.Uint64())
	return pool
}

// Name returns the name of the service that the pool belongs to.
func (p *Pool) Name() string { return p.name }

// Pick returns the member whose turn it is, or false when nobody may answer. Any number of goroutines may call it; it
// takes no lock and allocates nothing.
func (p *Pool) Pick() (*Member, bool) {
	snapshot := p.snapshot.Load()
	index := snapshot.order.at(p.cursor.Add(1))
	if index < 0 {
		return nil, false
	}
	return snapshot.serving[index], true
}

// Snapshot returns who may answer at this moment.
func (p *Pool) Snapshot() *Snapshot { return p.snapshot.Load() }

func (p *Pool) publish() { p.snapshot.Store(newSnapshot(p.servers)) }
