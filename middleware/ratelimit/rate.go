package ratelimit

import (
	"fmt"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/ratelimit/redis"
)

const (
	// longestDelay is how long a request waits at most for its turn.
	longestDelay = 500 * time.Millisecond
	// longestTime bounds times, so that sums of them and of the time since the start don't overflow. It is 73 years.
	longestTime = int64(1) << 61
)

// rate is what one source may do, in nanoseconds. A bucket of tokens is written as the time at which it will be full
// again: every request puts that off by an interval.
type rate struct {
	// interval is how long one token takes to come, and capacity how long all tokens of a bucket take.
	interval, capacity int64
	// delay is how far ahead a token may be reserved for a request that waits for it.
	delay int64
}

// newRate checks the options. It is not limited, and the rate without meaning, when average is 0.
func newRate(config dynamic.RateLimit) (r redis.Rate, limited bool, err error) {
	period := time.Duration(config.Period)
	switch {
	case config.Average < 0:
		return r, false, fmt.Errorf("rateLimit.average %d is negative", config.Average)
	case period < 0:
		return r, false, fmt.Errorf("rateLimit.period %s is negative", period)
	case config.Burst < 0:
		return r, false, fmt.Errorf("rateLimit.burst %d is negative", config.Burst)
	case config.Average == 0:
		return r, false, nil
	case period == 0:
		period = time.Second
	}
	r = redis.Rate{Average: config.Average, Period: period, Burst: max(config.Burst, 1)}
	r.MaxDelay = min(time.Duration(local(r).interval/2), longestDelay)
	return r, true, nil
}

// local returns the rate as the table counts.
func local(r redis.Rate) rate {
	interval := int64((uint64(r.Period) + uint64(r.Average)/2) / uint64(r.Average))
	interval = min(max(interval, 1), longestTime)
	capacity := longestTime
	if r.Burst <= longestTime/interval {
		capacity = r.Burst * interval
	}
	return rate{interval: interval, capacity: capacity, delay: int64(r.MaxDelay)}
}

// take takes a token at a time from a bucket that is full at another, and returns when it is full after that. The
// request waits if wait is positive; without a token in reach it is refused, the bucket stays as it was, and wait is
// how long that token takes.
func (r *rate) take(full, now int64) (next, wait int64, allowed bool) {
	next = max(full, now) + r.interval
	wait = next - now - r.capacity
	if wait > r.delay {
		return full, wait, false
	}
	return next, max(wait, 0), true
}
