package bucket

const (
	shardBits = 6
	shards    = 1 << shardBits
)

// Table holds the buckets of up to 1,572,864 sources; beyond that it evicts the fullest. Sources that don't share a
// shard share no lock. A new one is empty, and grows with its sources.
type Table struct {
	rate   Rate
	shards [shards]shard
}

// NewTable returns a table of buckets with the rate.
func NewTable(rate Rate) *Table { return &Table{rate: rate} }

// Verdict says what becomes of a request.
type Verdict struct {
	// Wait is how long an allowed request waits for its turn, or how long a refused one had to, in nanoseconds.
	Wait    int64
	Allowed bool
	// Evicted says that a bucket that was not full was evicted.
	Evicted bool
}

// Take takes a token from the bucket of a key, a hash with all bits of it at random. A key without a bucket has a full
// one. now is the time since an epoch that all calls share, in nanoseconds.
func (t *Table) Take(key uint64, now int64) Verdict {
	if key == free {
		key++
	}
	return t.shards[key>>(64-shardBits)].take(&t.rate, key, now)
}

// Sources returns how many sources have a bucket, and evicts full buckets if that is due.
func (t *Table) Sources(now int64) (n int64) {
	for i := range t.shards {
		n += int64(t.shards[i].count(now))
	}
	return n
}
