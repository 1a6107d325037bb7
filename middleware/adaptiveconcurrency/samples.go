package adaptiveconcurrency

import (
	"math/bits"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

const (
	// stripes is how many histograms there are, so that processors seldom write to the same memory.
	stripes = 4
	// fine is how many bits divide each power of two: a bucket is at most an eighth wide.
	fine = 3
	// buckets holds latencies from 1 µs to more than an hour.
	buckets = 32 << fine
	// leastBound is how many requests without a response say something by themselves.
	leastBound = windowSamples / 2
)

// samples are the latencies of a window: those of responses, and how long requests without a response waited for one,
// each of which is known to be longer.
type samples struct {
	answered, unanswered histogram
}

// histogram counts latencies.
type histogram [stripes][buckets]atomic.Uint32

// add counts a latency.
func (h *histogram) add(latency time.Duration) {
	h[rand.Uint32N(stripes)][bucketOf(uint64(max(latency.Microseconds(), 0)))].Add(1)
}

// bucketOf returns the bucket of a latency in microseconds: below 8 one each, then eight for each power of two.
func bucketOf(us uint64) int {
	if us < 1<<fine {
		return int(us)
	}
	exponent := bits.Len64(us) - 1 - fine
	return min(exponent<<fine+int(us>>exponent), buckets-1)
}

// bounds returns the least latency of a bucket, and that of the next one, in microseconds.
func bounds(bucket int) (from, to float64) {
	if bucket < 1<<fine {
		return float64(bucket), float64(bucket + 1)
	}
	exponent := bucket>>fine - 1
	from = float64(uint64(bucket&(1<<fine-1)|1<<fine) << exponent)
	return from, from + float64(uint64(1)<<exponent)
}

// count returns how many latencies from a bucket on were added since the last drain.
func (h *histogram) count(from int) (n int) {
	for i := range h {
		for j := from; j < buckets; j++ {
			n += int(h[i][j].Load())
		}
	}
	return n
}

// drain empties the histogram, and returns what it had.
func (h *histogram) drain() (counts [buckets]int, n int) {
	for i := range h {
		for j := range h[i] {
			c := int(h[i][j].Swap(0))
			counts[j] += c
			n += c
		}
	}
	return counts, n
}

// count returns how many latencies there are of responses, or of requests without one from a bucket on if these are
// more.
func (s *samples) count(tolerated int) int {
	return max(s.answered.count(0), s.unanswered.count(tolerated))
}

// drain empties the histograms, and returns how many latencies they had and their median, which a minority of slow
// requests, such as long polls, does not move. It is the estimate of Kaplan and Meier: a request without a response
// counts as one that would have taken longer than it waited, and not at all if it waited for less than the median. If
// these are so many that the median is not known, it is at least the median of their times from the bucket tolerated
// on, of which a few say nothing.
func (s *samples) drain(tolerated int) (n int, median time.Duration, bound bool) {
	answered, n := s.answered.drain()
	unanswered, left := s.unanswered.drain()
	n += left
	surviving, remaining, early := 1.0, n, 0
	for j, c := range answered {
		if c > 0 {
			after := surviving * (1 - float64(c)/float64(remaining))
			if after <= 0.5 {
				return n - early, within(j, (surviving-0.5)/(surviving-after)), false
			}
			surviving = after
		}
		remaining -= c + unanswered[j]
		early += unanswered[j]
	}
	without, below := 0, 0
	for _, c := range unanswered[min(tolerated, buckets):] {
		without += c
	}
	if without < leastBound {
		return 0, 0, false
	}
	for j := tolerated; j < buckets; j++ {
		if c := unanswered[j]; c > 0 && 2*(below+c) >= without {
			return n - early + without, within(j, (float64(without)/2-float64(below))/float64(c)), true
		}
		below += unanswered[j]
	}
	return 0, 0, false
}

// within returns the latency at a part of the width of a bucket.
func within(bucket int, part float64) time.Duration {
	from, to := bounds(bucket)
	return time.Duration((from + (to-from)*part) * float64(time.Microsecond))
}
