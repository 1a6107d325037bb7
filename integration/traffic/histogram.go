package traffic

import (
	"math"
	"sync/atomic"
	"time"
)

const (
	// buckets is the number of those of a Histogram, each of which ends at growth times the end of the one before, from a
	// microsecond on: the last one begins at 10 minutes.
	buckets = 1024
	growth  = 1.02
)

// Histogram counts latencies of up to ten minutes with an error of two percent. The zero value is empty. It is safe for
// concurrent use.
type Histogram struct {
	counts [buckets]atomic.Int64
}

// Record counts a latency.
func (h *Histogram) Record(latency time.Duration) {
	bucket := int(math.Log(max(1, float64(latency)/float64(time.Microsecond))) / math.Log(growth))
	h.counts[min(bucket, buckets-1)].Add(1)
}

// Percentile returns the latency below which a percentage of those counted lie, and 0 for none.
func (h *Histogram) Percentile(percent float64) time.Duration {
	var total int64
	for i := range h.counts {
		total += h.counts[i].Load()
	}
	rank := int64(math.Ceil(float64(total) * percent / 100))
	for i := range h.counts {
		if rank -= h.counts[i].Load(); rank <= 0 && total > 0 {
			return time.Duration(math.Pow(growth, float64(i+1)) * float64(time.Microsecond))
		}
	}
	return 0
}

// Reset empties the histogram.
func (h *Histogram) Reset() {
	for i := range h.counts {
		h.counts[i].Store(0)
	}
}
