// Package bucket limits rates: it holds a bucket of tokens for each of many sources, in bounded memory.
//
// In flow a hash of the source and the time; out flows whether the source may go on, at once or after a wait. A bucket
// is 16 bytes: nothing of a source but its hash is kept, and full buckets are not kept at all.
package bucket

import "time"

// longestTime bounds times, so that sums of them and of the time since the start don't overflow. It is 73 years.
const longestTime = int64(1) << 61

// Rate is what one source may do. A bucket of tokens is written as the time at which it will be full again: every
// request puts that off by an interval.
type Rate struct {
	// interval is how long one token takes to come, and capacity how long all tokens of a bucket take, in nanoseconds.
	interval, capacity int64
	// delay is how far ahead a token may be reserved for a request that waits for it.
	delay int64
}

// NewRate returns the rate of average tokens in each period, at least 1, with burst tokens in a full bucket. Rates
// above ten million tokens a second are rounded to whole nanoseconds between two tokens.
func NewRate(average int64, period time.Duration, burst int64) Rate {
	interval := int64((uint64(period) + uint64(average)/2) / uint64(average)) //nolint:gosec // not negative
	interval = min(max(interval, 1), longestTime)
	capacity := longestTime
	if burst <= longestTime/interval {
		capacity = burst * interval
	}
	return Rate{interval: interval, capacity: capacity}
}

// Interval is how long one token takes to come.
func (r Rate) Interval() time.Duration { return time.Duration(r.interval) }

// Ahead returns the rate with requests that may wait so long for their token.
func (r Rate) Ahead(delay time.Duration) Rate {
	r.delay = int64(delay)
	return r
}

// take takes a token at a time from a bucket that is full at another, and returns when it is full after that. The
// request waits if wait is positive; without a token in reach it is refused, the bucket stays as it was, and wait is
// how long that token takes.
func (r *Rate) take(full, now int64) (next, wait int64, allowed bool) {
	next = max(full, now) + r.interval
	wait = next - now - r.capacity
	if wait > r.delay {
		return full, wait, false
	}
	return next, max(wait, 0), true
}
