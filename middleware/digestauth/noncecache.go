package digestauth

import (
	"sync"
	"time"
)

const (
	cacheShards = 16
	// maxNonces is how many challenges a shard knows the use of.
	maxNonces = 4096
	// width is how far behind the highest count of a challenge another may come: browsers send requests on several
	// connections at once.
	width = 256
)

// nonceCache records which counts of which challenges have been used (RFC 7616 section 3.4, nc), so that no answer is
// accepted twice. A challenge is entered when it has been answered by a user, so that clients without credentials
// cannot fill it. When there are too many, the one that has been there the longest is forgotten, and with it
// everything about challenges that are as old: those that are not in the cache then count as used.
type nonceCache struct{ shards [cacheShards]cacheShard }

// cacheShard is one shard of a nonceCache.
type cacheShard struct {
	mutex sync.Mutex
	used  map[[idLength]byte]counted
	// order are the challenges in used, by when they were entered.
	order []nonce
	// forgotten is when the latest challenge was made of those that were forgotten, or 0. Those that were over count
	// too: a request may have looked at the clock before one was over, and come here after it was forgotten.
	forgotten time.Duration
}

// counted are the counts of one challenge that were used: seen has a bit for each of the last ones up to highest.
type counted struct {
	highest uint32
	seen    [width / 64]uint64
}

// use enters a count, and reports whether it can not have been used before.
func (l *nonceCache) use(n nonce, count uint32, now time.Duration) bool {
	shard := &l.shards[n.id[idLength-1]%cacheShards]
	shard.mutex.Lock()
	defer shard.mutex.Unlock()
	counts, known := shard.used[n.id]
	if !known {
		if n.issued <= shard.forgotten {
			return false
		}
		shard.enter(n, now)
	}
	fresh := counts.take(count)
	shard.used[n.id] = counts
	return fresh
}

// enter makes room for a challenge.
func (s *cacheShard) enter(n nonce, now time.Duration) {
	if s.used == nil {
		s.used = make(map[[idLength]byte]counted)
	}
	for len(s.order) > 0 {
		oldest := s.order[0]
		if now-oldest.issued <= lifetime && len(s.order) < maxNonces {
			break
		}
		s.forgotten = max(s.forgotten, oldest.issued)
		delete(s.used, oldest.id)
		s.order = s.order[1:]
	}
	s.order = append(s.order, n)
}

// take marks a count, and reports whether it was not marked and is not too far behind.
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
