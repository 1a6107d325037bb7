package stream

import (
	"fmt"
	"hash/maphash"
	"net/netip"
	"sync"

	"github.com/sluiceproxy/sluice/dynamic"
)

// inFlight is the middleware inFlightConn.
type inFlight struct {
	amount int64
	open   *counters
}

// newInFlight checks the amount. The connections that the former step has counted go on to count.
func newInFlight(config *dynamic.TCPInFlightConn, before Step) (*inFlight, error) {
	if config.Amount < 1 {
		return nil, fmt.Errorf("inFlightConn.amount is %d, and must be at least 1", config.Amount)
	}
	if former, ok := before.(*inFlight); ok {
		return &inFlight{amount: config.Amount, open: former.open}, nil
	}
	return &inFlight{amount: config.Amount, open: newCounters()}, nil
}

// Admit refuses a client that has as many connections as it may. A client of unknown address counts as one client.
func (l *inFlight) Admit(client netip.Addr) (release func(), refusal Refusal) {
	client = key(client)
	if !l.open.raise(client, l.amount) {
		return nil, limited("the client has as many connections as inFlightConn allows")
	}
	open := l.open
	return func() { open.lower(client) }, Refusal{}
}

// shards is the number of locks of counters: clients that don't share a shard share no lock.
const shards = 64

// large is how many clients a shard has had when its map is replaced by a smaller one after they have left.
const large = 64

// counters counts the open connections of each client. A client without any takes no memory.
type counters struct {
	seed   maphash.Seed
	shards [shards]counterShard
}

type counterShard struct {
	mutex sync.Mutex
	open  map[netip.Addr]int64
	// most is how many clients there were since open was made.
	most int
	_    [40]byte // A shard is a cache line, so that neighbours don't slow each other down.
}

func newCounters() *counters { return &counters{seed: maphash.MakeSeed()} }

func (c *counters) shard(client netip.Addr) *counterShard {
	return &c.shards[maphash.Comparable(c.seed, client)%shards]
}

// raise counts a connection, unless the client has as many as it may.
func (c *counters) raise(client netip.Addr, amount int64) bool {
	s := c.shard(client)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	count := s.open[client]
	if count >= amount {
		return false
	}
	if s.open == nil {
		s.open, s.most = make(map[netip.Addr]int64), 0
	}
	s.open[client] = count + 1
	s.most = max(s.most, len(s.open))
	return true
}

// lower counts a connection out.
func (c *counters) lower(client netip.Addr) {
	s := c.shard(client)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.open[client]--; s.open[client] > 0 {
		return
	}
	delete(s.open, client)
	if s.most > large && len(s.open)*8 < s.most { // A map keeps the size that it once had.
		smaller := make(map[netip.Addr]int64, len(s.open))
		for other, count := range s.open {
			smaller[other] = count
		}
		s.open, s.most = smaller, len(smaller)
	}
}
