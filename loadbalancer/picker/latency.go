package picker

import (
	"math"
	"sync/atomic"
	"time"
)

const (
	// halfLife is the half-life of latency data of a candidate without requests. A candidate that was ten times
	// too slow is tried again after a little more than three of them.
	halfLife = 5 * time.Second
	// failureCost is how many times slower a candidate that always fails counts than the other one. A third of failures
	// is as bad as to be twice as slow.
	failureCost = 10
	// window is the number of samples of the mean.
	window = 100
	// few is the number of samples from which on the mean is meaningful.
	few = 8
	// tickBits makes a tick of 2^20 ns, about 1 ms. Ticks of 32 bits wrap after 52 days; a candidate without
	// requests for that long counts once as just used.
	tickBits = 20
)

// Latency is the latency state of one candidate. The zero value is ready and empty; any number of goroutines
// may use it. It takes no lock and allocates nothing.
//
// It has three parts, which decay while the candidate gets no requests, so that it gets another chance: a
// moving average that rises fast and falls slowly (peak EWMA), for peakewma; the mean of about the last 100
// samples, for leasttime; and the share of failed responses.
type Latency struct {
	// peak is the tick of the last sample in the upper half, and the average in ns as a float32 in the lower; 0 without.
	peak atomic.Uint64
	// mean is the mean in ns as a float32 in the upper half, and the number of its samples, up to window/2, in
	// the lower.
	mean atomic.Uint64
	// failures is the share of failures as a float32.
	failures atomic.Uint32
}

// Observe takes in how long the head of a response took, at an instant since the epoch of Request.Now. An answer that
// failed is scored as slow, however fast it came.
func (l *Latency) Observe(sample time.Duration, failed bool, now time.Duration) {
	value, tick := float64(max(sample, 1)), tickOf(now)
	faded := 1.0 // What an idle time has left of what was known, of 1.
	for {
		old := l.peak.Load()
		average := float64(math.Float32frombits(uint32(old)))
		last := tick
		if old != 0 {
			idle := idleSince(old, tick)
			faded = fade(1, idle)
			last = uint32(old>>32) + uint32(idle) //nolint:gosec // not negative; samples may overtake one another
		}
		if l.peak.CompareAndSwap(old, uint64(last)<<32|uint64(math.Float32bits(float32(peakAfter(average, value, faded,
			failed))))) {
			break
		}
	}
	l.observeMean(value, faded, failed)
	l.observeFailure(failed, faded)
}

// peakAfter returns the average after a sample. A failure can raise the average but not lower it.
func peakAfter(average, value, faded float64, failed bool) float64 {
	switch {
	case average == 0:
		return value
	case value > average:
		return average + (min(value, outlier*average)-average)*rise
	case failed:
		return average
	}
	return value + (average-value)*min(faded, 1-fall)
}

// The average moves a part of the way to each sample: a large part to a slower sample, a small one to a faster.
// So it does not depend on the rate of requests, as decay by time alone would. A single outlier has a bounded
// effect: no sample counts as more than a few times the average, and a candidate that stays slow is recognised
// after five samples.
const (
	rise    = 0.25
	fall    = 0.0625
	outlier = 4
)

func (l *Latency) observeMean(value, faded float64, failed bool) {
	for {
		old := l.mean.Load()
		mean, count := float64(math.Float32frombits(uint32(old>>32))), uint32(old)
		if failed && value < mean {
			return
		}
		// Weights of 2/n give a mean that varies as much as the mean of the last n does.
		count = min(uint32(float64(count)*faded+0.5)+1, window/2)
		mean += (value - mean) / float64(count)
		if l.mean.CompareAndSwap(old, uint64(math.Float32bits(float32(mean)))<<32|uint64(count)) {
			return
		}
	}
}

func (l *Latency) observeFailure(failed bool, faded float64) {
	for {
		old := l.failures.Load()
		if old == 0 && !failed {
			return // Nothing to write keeps the cache line shared on the usual path.
		}
		share := float64(math.Float32frombits(old)) * faded
		if failed {
			share += (1 - share) / 4
		} else if share -= share / 8; share < 1.0/512 {
			share = 0
		}
		if l.failures.CompareAndSwap(old, math.Float32bits(float32(share))) {
			return
		}
	}
}

// speed is how slow a candidate is.
type speed struct {
	// latency is in ns, 0 when nothing is known.
	latency float64
	// failing is how many times slower it counts, for its failures, than the slower one of those that are compared.
	failing float64
}

// peakAt returns the speed that peakewma goes by.
func (l *Latency) peakAt(now time.Duration) speed {
	packed := l.peak.Load()
	if packed == 0 {
		return speed{}
	}
	return l.at(float64(math.Float32frombits(uint32(packed))), idleSince(packed, tickOf(now)))
}

// meanAt returns the speed that leasttime goes by.
func (l *Latency) meanAt(now time.Duration) speed {
	packed := l.mean.Load()
	mean := float64(math.Float32frombits(uint32(packed >> 32)))
	if uint32(packed) < few {
		mean = 0
	}
	return l.at(mean, idleSince(l.peak.Load(), tickOf(now)))
}

// at lets what is known fade.
func (l *Latency) at(latency float64, idle int32) speed {
	var s speed
	if latency > 0 {
		s.latency = fade(latency, idle)
	}
	if failures := l.failures.Load(); failures != 0 {
		share := fade(float64(math.Float32frombits(failures)), idle)
		s.failing = share * share * failureCost
	}
	return s
}

func tickOf(now time.Duration) uint32 { return uint32(uint64(now) >> tickBits) } //nolint:gosec // wraps around, see tickBits

// idleSince returns how many ticks have passed since the one in the upper half; samples that overtake one
// another are 0.
func idleSince(packed uint64, tick uint32) int32 {
	return max(int32(tick-uint32(packed>>32)), 0) //nolint:gosec // a difference
}

// fade halves a value of 1 at least once for each half-life. Between whole powers of two it goes in straight
// lines: to take from the bits of a float is to take from its exponent, and needs no logarithm.
func fade(value float64, ticks int32) float64 {
	const (
		halfLifeTicks = halfLife >> tickBits
		perTick       = (1 << 52) / halfLifeTicks // That bit is 1 in the exponent of a float64.
		longest       = 60 * halfLifeTicks
	)
	return math.Float64frombits(math.Float64bits(value) - uint64(min(ticks, int32(longest)))*uint64(perTick)) //nolint:gosec // not negative
}
