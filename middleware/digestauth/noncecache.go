package digestauth

import (
	"sync"
	"time"
)

const (
	cacheShards = 16
	// maxNonces is the maximum number of challenges in a shard.
	maxNonces = 4096
	// width is the accepted distance to the highest count of a challenge: browsers send requests on several connections.
	width = 256
)

// nonceCache records which counts of which challenges have been used (RFC 7616 section 3.4, nc), so that each response
// is accepted once. A challenge is added after a correct response, so that clients without credentials cannot fill the
// cache. The oldest challenge is evicted when the cache is full; challenges as old or older that are not in the cache
// then count as used.
type nonceCache struct{ shards [cacheShards]cacheShard }

type cacheShard struct {
	mutex sync.Mutex
	used  map[[idLength]byte]counted
	// order holds the challenges in order of insertion.
	order []nonce
	// evicted is the latest creation time of evicted challenges, or 0. It includes expired ones: a request may have
	// checked the expiry before an eviction.
	evicted time.Duration
}

// counted are the used counts of one challenge: seen is a bit set of the last ones up to highest.
type counted struct {
	highest uint32
	seen    [width / 64]uint64
}

// use adds a count, and reports whether it was certainly unused.
func (l *nonceCache) use(n nonce, count uint32, now time.Duration) bool {
	shard := &l.shards[n.id[idLength-1]%cacheShards]
	shard.mutex.Lock()
	defer shard.mutex.Unlock()
	counts, known := shard.used[n.id]
	if !known {
		if n.issued <= shard.evicted {
			return false
		}
		shard.enter(n, now)
	}
	fresh := counts.take(count)
	shard.used[n.id] = counts
	return fresh
}

// enter adds a challenge.
func (s *cacheShard) enter(n nonce, now time.Duration) {
	if s.used == nil {
		s.used = make(map[[idLength]byte]counted)
	}
	for len(s.order) > 0 {
		oldest := s.order[0]
		if now-oldest.issued <= lifetime && len(s.order) < maxNonces {
			break
		}
		s.evicted = max(s.evicted, oldest.issued)
		delete(s.used, oldest.id)
		s.order = s.order[1:]
	}
	s.order = append(s.order, n)
}

// take marks a count, and reports whether it was unused and not too old.
func (c *counted) take(count uint32) bool {
	if count > c.highest {
		if count-c.highest >= width {
			c.seen = [width / 64]uint64{}
		} else {
			for skipped := c.highest + 1; skipped < count; skipped++ {
				c.seen[skipped%width/64] &^= 1 << (skipped % 64)
			}
		}
		c.highest = count
	} else if c.highest-count >= width || c.seen[count%width/64]&(1<<(count%64)) != 0 {
		return false
	}
	c.seen[count%width/64] |= 1 << (count % 64)
	return true
}
