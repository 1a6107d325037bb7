package bucket

import "sync/atomic"

// Bucket is one bucket from which many goroutines take. It takes no lock.
type Bucket struct {
	rate Rate
	// full is when the bucket is full again.
	full atomic.Int64
}

// NewBucket returns a full bucket with the rate.
func NewBucket(rate Rate) *Bucket { return &Bucket{rate: rate} }

// Take takes a token. now is the time since an epoch that all calls share, in nanoseconds.
func (b *Bucket) Take(now int64) Verdict {
	for {
		full := b.full.Load()
		next, wait, allowed := b.rate.take(full, now)
		if !allowed || b.full.CompareAndSwap(full, next) {
			return Verdict{Wait: wait, Allowed: allowed}
		}
	}
}
