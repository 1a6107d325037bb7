package bucket

import (
	"math/bits"
	"sync"
	"time"
)

const (
	// free is the key of a slot without a bucket.
	free = 0
	// fewest and most are the numbers of slots that a shard can have, powers of two.
	fewest = 8
	most   = 1 << 15
	// glance is how many buckets are compared for the one to evict.
	glance = 32
	// sweep is how often full buckets are evicted, in nanoseconds.
	sweep = int64(30 * time.Second)
)

// slot is one bucket: the hash of its source, and when it is full again. It holds no pointer, so that the collector
// has nothing to read.
type slot struct {
	key  uint64
	full int64
}

// shard is a part of a table: slots with linear probing, at most three quarters of them taken.
type shard struct {
	mutex sync.Mutex
	slots []slot
	taken int
	// due is when full buckets are evicted next.
	due int64
	_   [16]byte // A shard is a cache line, so that neighbours don't slow each other down.
}

func (s *shard) take(r *Rate, key uint64, now int64) (v Verdict) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.tidy(now)
	if found := s.find(key); found != nil {
		found.full, v.Wait, v.Allowed = r.take(found.full, now)
		return v
	}
	full, wait, allowed := r.take(now, now)
	if 4*(s.taken+1) > 3*len(s.slots) {
		v.Evicted = s.room(key, now)
	}
	s.put(slot{key: key, full: full})
	v.Wait, v.Allowed = wait, allowed
	return v
}

func (s *shard) count(now int64) int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.tidy(now)
	return s.taken
}

// find returns the bucket of a key, or nil.
func (s *shard) find(key uint64) *slot {
	if len(s.slots) == 0 {
		return nil
	}
	mask := uint64(len(s.slots) - 1)
	for i := key & mask; s.slots[i].key != free; i = (i + 1) & mask {
		if s.slots[i].key == key {
			return &s.slots[i]
		}
	}
	return nil
}

// put takes the first free slot for a bucket that is not there.
func (s *shard) put(bucket slot) {
	mask := uint64(len(s.slots) - 1)
	i := bucket.key & mask
	for s.slots[i].key != free {
		i = (i + 1) & mask
	}
	s.slots[i] = bucket
	s.taken++
}

// room makes room for one more bucket, and reports whether one had to go that was not full.
func (s *shard) room(key uint64, now int64) (evicted bool) {
	if len(s.slots) < most {
		s.rebuild(s.live(now)+1, now)
		return false
	}
	victim := s.fullest(key)
	evicted = s.slots[victim].full > now
	s.remove(victim)
	return evicted
}

// tidy evicts full buckets and frees memory, from time to time.
func (s *shard) tidy(now int64) {
	if now < s.due || s.taken == 0 {
		return
	}
	s.due = now + sweep
	if live := s.live(now); live < s.taken {
		s.rebuild(live, now)
	}
}

// live counts the buckets that are not full.
func (s *shard) live(now int64) (n int) {
	for i := range s.slots {
		if s.slots[i].key != free && s.slots[i].full > now {
			n++
		}
	}
	return n
}

// rebuild moves the buckets that are not full to new slots, of which at most half are taken then if there may be as
// many.
func (s *shard) rebuild(live int, now int64) {
	old := s.slots
	s.slots, s.taken = nil, 0
	if live == 0 {
		return
	}
	s.slots = make([]slot, min(max(1<<bits.Len(uint(2*live-1)), fewest), most))
	for i := range old {
		if old[i].key != free && old[i].full > now {
			s.put(old[i])
		}
	}
}

// fullest returns the place of the fullest of some buckets near the slot of a key: it has the least to say. A source
// that is being refused has more, so that a flood of others does not evict it.
func (s *shard) fullest(key uint64) (victim uint64) {
	mask := uint64(len(s.slots) - 1)
	seen := 0
	for i := key & mask; seen < glance && seen < s.taken; i = (i + 1) & mask {
		if s.slots[i].key == free {
			continue
		}
		if seen == 0 || s.slots[i].full < s.slots[victim].full {
			victim = i
		}
		seen++
	}
	return victim
}

// remove frees a slot, and moves those behind it that would not be found any more.
func (s *shard) remove(hole uint64) {
	mask := uint64(len(s.slots) - 1)
	for i := (hole + 1) & mask; s.slots[i].key != free; i = (i + 1) & mask {
		// A bucket may move to the hole if that is not before the slot where the search for it begins.
		if distance := (i - s.slots[i].key) & mask; distance >= (i-hole)&mask {
			s.slots[hole] = s.slots[i]
			hole = i
		}
	}
	s.slots[hole] = slot{}
	s.taken--
}
