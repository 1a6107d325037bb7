package report

import "time"

// bucket limits a rate: it holds up to size tokens and gains one every interval. It is full when it is first used.
type bucket struct {
	size     int
	interval time.Duration

	tokens float64
	last   time.Time
}

// wait returns how long it is until there is a token; 0 means that there is one.
func (b *bucket) wait(now time.Time) time.Duration {
	if b.last.IsZero() {
		b.tokens = float64(b.size)
	} else {
		b.tokens = min(float64(b.size), b.tokens+float64(now.Sub(b.last))/float64(b.interval))
	}
	b.last = now
	if b.tokens >= 1 {
		return 0
	}
	return max(1, time.Duration((1-b.tokens)*float64(b.interval)))
}

// take takes a token that wait has found.
func (b *bucket) take() { b.tokens-- }

// full reports whether nothing has been taken lately.
func (b *bucket) full(now time.Time) bool {
	b.wait(now)
	return b.tokens >= float64(b.size)
}
