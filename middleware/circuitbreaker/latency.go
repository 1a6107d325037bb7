package circuitbreaker

import (
	"math"
	"math/bits"
	"time"
)

// Latencies are counted by milliseconds up to 63, and above by 32 bins for each power of two, which have an error of at
// most 3.1 %. The last bin holds everything above 17 minutes.
const (
	exactBits  = 6
	finerBits  = exactBits - 1
	topBits    = 20
	exactBins  = 1 << exactBits
	finerBins  = 1 << finerBits
	bins       = exactBins + (topBits-exactBits)*finerBins
	maxLatency = 1<<topBits - 1
)

// bin returns the bin of a latency.
func bin(latency time.Duration) int {
	ms := uint64(min(max(latency.Milliseconds(), 0), maxLatency)) //nolint:gosec // not negative
	if ms < exactBins {
		return int(ms)
	}
	top := bits.Len64(ms) - 1
	return exactBins + (top-exactBits)*finerBins + int(ms>>(top-finerBits)) - finerBins
}

// floor returns the lower bound of a bin in milliseconds.
func floor(bin int) int {
	if bin < exactBins {
		return bin
	}
	octave, rest := (bin-exactBins)/finerBins, (bin-exactBins)%finerBins
	return (finerBins + rest) << (octave + exactBits - finerBits)
}

// quantile returns the quantile (in percent) of latencies in milliseconds; 0 without requests.
func (w *window) quantile(now time.Duration, percent float64) float64 {
	var counts [bins]uint64
	total := uint64(0)
	for counters := range w.latencies.counting(now) {
		for i := range counters {
			count := uint64(counters[i].Load())
			counts[i] += count
			total += count
		}
	}
	rank := uint64(max(math.Round(percent/100*float64(total)), 1))
	for i, count := range counts {
		if count >= rank {
			return float64(floor(i))
		}
		rank -= count
	}
	return 0
}
