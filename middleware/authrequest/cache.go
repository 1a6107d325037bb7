package authrequest

import (
	"crypto/sha256"
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// shards is a power of two, of which each has a lock.
	shards = 64
	// maxBytes bounds a shard, maxOutcome an outcome that is kept, in bytes: 32 MiB in all.
	maxBytes   = 512 << 10
	maxOutcome = 8 << 10
	// glance is how many entries are compared for the one to evict.
	glance = 16
)

// key is the hash of an owner and the text of cacheKey, which may hold a secret.
type key = [sha256.Size]byte

// Cache keeps the answers of authRequests for a time, in at most 32 MiB. It is safe for concurrent use. Requests of
// different keys mostly use different locks.
type Cache struct {
	start  time.Time
	owners atomic.Uint64
	shards [shards]shard
}

type shard struct {
	mutex   sync.Mutex
	entries map[key]entry
	bytes   int
}

// entry is an outcome that is kept until a time since the start.
type entry struct {
	outcome *outcome
	until   time.Duration
}

// NewCache returns an empty cache.
func NewCache() *Cache { return &Cache{start: time.Now()} }

// owner returns what the keys of a new owner begin with.
func (c *Cache) owner() []byte { return binary.BigEndian.AppendUint64(nil, c.owners.Add(1)) }

// get returns the outcome of a key; nil without one that is valid.
func (c *Cache) get(of key) *outcome {
	now := time.Since(c.start)
	s := &c.shards[of[0]%shards]
	s.mutex.Lock()
	defer s.mutex.Unlock()
	found, known := s.entries[of]
	switch {
	case !known:
		return nil
	case found.until <= now:
		s.remove(of, found)
		return nil
	}
	return found.outcome
}

// put keeps a copy of an outcome for a time; not at all for none.
func (c *Cache) put(of key, o *outcome, valid time.Duration) {
	size := o.size()
	if valid <= 0 || size > maxOutcome {
		return
	}
	now, kept := time.Since(c.start), o.clone()
	s := &c.shards[of[0]%shards]
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if before, known := s.entries[of]; known {
		s.remove(of, before)
	}
	for s.bytes+size > maxBytes {
		s.evict(now)
	}
	if s.entries == nil {
		s.entries = map[key]entry{}
	}
	s.entries[of] = entry{outcome: kept, until: now + valid}
	s.bytes += size
}

func (s *shard) remove(of key, known entry) {
	delete(s.entries, of)
	s.bytes -= known.outcome.size()
}

// evict removes one of the entries that has expired, or else the one of a few that expires first.
func (s *shard) evict(now time.Duration) {
	var victim key
	var first entry
	seen := 0
	for of, one := range s.entries {
		if first.outcome == nil || one.until < first.until {
			victim, first = of, one
		}
		if seen++; seen == glance || first.until <= now {
			break
		}
	}
	s.remove(victim, first)
}
