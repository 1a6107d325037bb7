package ratelimit

import "sync/atomic"

const (
	shardBits = 6
	shards    = 1 << shardBits
)

// table holds the buckets of up to 1,572,864 sources. Sources that don't share a shard share no lock.
type table struct {
	rate   rate
	shards [shards]shard
}

// verdict says what becomes of a request.
type verdict struct {
	// wait is how long an allowed request waits for its turn, or how long a refused one had to.
	wait    int64
	allowed bool
	// evicted says that a bucket that was not full was evicted.
	evicted bool
}

// take takes a token from the bucket of a key. A key without one has a full one.
func (t *table) take(key uint64, now int64) verdict {
	if key == free {
		key++
	}
	return t.shards[key>>(64-shardBits)].take(&t.rate, key, now)
}

// sources returns how many sources have a bucket, and evicts full buckets if that is due.
func (t *table) sources(now int64) (n int64) {
	for i := range t.shards {
		n += int64(t.shards[i].count(now))
	}
	return n
}

// lazy is a table that is made for the first request, so that owners without traffic cost nothing.
type lazy struct{ atomic.Pointer[table] }

func (l *lazy) table(r rate) *table {
	if t := l.Load(); t != nil {
		return t
	}
	l.CompareAndSwap(nil, &table{rate: r})
	return l.Load()
}
