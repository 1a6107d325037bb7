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
)

// samples is a histogram of latencies.
type samples [stripes][buckets]atomic.Uint32

// add counts a latency.
func (s *samples) add(latency time.Duration) {
	s[rand.Uint32N(stripes)][bucketOf(uint64(max(latency.Microseconds(), 0)))].Add(1)
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

// count returns how many latencies were added since the last drain.
func (s *samples) count() (n int) {
	for i := range s {
		for j := range s[i] {
			n += int(s[i][j].Load())
		}
	}
	return n
}

// drain empties the histogram, and returns how many latencies it had and their median, which a minority of slow
// requests, such as long polls, does not move.
func (s *samples) drain() (n int, median time.Duration) {
	var counts [buckets]int
	for i := range s {
		for j := range s[i] {
			c := int(s[i][j].Swap(0))
			counts[j] += c
			n += c
		}
	}
	below := 0
	for j, c := range counts {
		if c > 0 && 2*(below+c) >= n {
			from, to := bounds(j)
			part := (float64(n)/2 - float64(below)) / float64(c)
			return n, time.Duration((from + (to-from)*part) * float64(time.Microsecond))
		}
		below += c
	}
	return n, 0
}
