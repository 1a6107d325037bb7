package picker

import (
	"math"
	"time"
)

// Mean returns the mean of about the last 100 samples, or of what there is, as it was when the last one came:
// it does not fade, since it is for people. 0 without a sample.
func (l *Latency) Mean() time.Duration {
	return time.Duration(math.Float32frombits(uint32(l.mean.Load() >> 32)))
}
