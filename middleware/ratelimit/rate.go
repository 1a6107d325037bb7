package ratelimit

import (
	"fmt"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/httpio/bucket"
	"github.com/sluiceproxy/sluice/middleware/ratelimit/redis"
)

// longestDelay is how long a request waits at most for its turn.
const longestDelay = 500 * time.Millisecond

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
	if !config.NoDelay {
		r.MaxDelay = min(local(r).Interval()/2, longestDelay)
	}
	return r, true, nil
}

// local returns the rate as tables in this process count.
func local(r redis.Rate) bucket.Rate {
	return bucket.NewRate(r.Average, r.Period, r.Burst).Ahead(r.MaxDelay)
}
