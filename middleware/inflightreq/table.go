package inflightreq

import (
	"sync"
	"sync/atomic"
)

const (
	shardBits = 5
	shards    = 1 << shardBits
	// spare is how many sources a shard may have had at a time for it to keep the map when it is empty again.
	spare = 1024
)

// table counts the requests of each source that are under way. Sources that don't share a shard share no lock.
type table struct{ shards [shards]shard }

// shard counts by the hashes of sources, so that it keeps no part of a request.
type shard struct {
	mutex  sync.Mutex
	counts map[uint64]int64
	// total is the sum of counts, largest how many there have been at a time.
	total, largest int64
	_              [32]byte // A shard is a cache line, so that neighbours don't slow each other down.
}

// enter counts a request in, unless its source has as many as it may.
func (s *shard) enter(source uint64, amount int64) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	count := s.counts[source]
	if count >= amount {
		return false
	}
	if s.counts == nil {
		s.counts = make(map[uint64]int64)
	}
	s.counts[source] = count + 1
	s.total++
	s.largest = max(s.largest, int64(len(s.counts)))
	return true
}

// leave counts a request out. A map does not shrink, so a large one is dropped when it is empty.
func (s *shard) leave(source uint64) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.total--
	if s.counts[source]--; s.counts[source] > 0 {
		return
	}
	delete(s.counts, source)
	if s.total == 0 && s.largest > spare {
		s.counts, s.largest = nil, 0
	}
}

// levels returns how many requests are under way, and of how many sources.
func (t *table) levels() (requests, sources int64) {
	for i := range t.shards {
		s := &t.shards[i]
		s.mutex.Lock()
		requests += s.total
		sources += int64(len(s.counts))
		s.mutex.Unlock()
	}
	return requests, sources
}

// lazy is a table that is made for the first request, so that owners without traffic cost nothing.
type lazy struct{ atomic.Pointer[table] }

func (l *lazy) shard(source uint64) *shard {
	t := l.Load()
	if t == nil {
		l.CompareAndSwap(nil, new(table))
		t = l.Load()
	}
	return &t.shards[source>>(64-shardBits)]
}
