package picker

import (
	"math"
	"sync/atomic"
	"time"
)

const (
	// halfLife is how long it takes until half of what is known about a candidate's latency is forgotten, when no request
	// asks it again. A candidate that was ten times too slow is tried again after a little more than three of them.
	halfLife = 5 * time.Second
	// failureHalfLife is the same for failures; what they cost halves twice as fast, since it is their square.
	failureHalfLife = time.Second
	// failureCost is what a candidate that always fails is slower by.
	failureCost = 10 * time.Second
	// window is how many samples the mean stands for.
	window = 100
	// tickBits makes a tick of 2^20 ns, about 1 ms. Ticks of 32 bits begin anew after 52 days; a candidate that nobody
	// asked for so long counts as one that was just asked, for once.
	tickBits = 20
)

// Latency is how fast one candidate answers, as the strategies see it. The zero value is ready and knows nothing; any
// number of goroutines may use it. It takes no lock and allocates nothing.
//
// It knows three things, all of which fade while nobody asks the candidate, so that it gets another chance: a moving
// average that rises at once and falls slowly, for peakewma; the mean of about the last 100 samples, for leasttime; and how
// many of the last answers failed.
type Latency struct {
	// peak is the tick of the last sample in the upper half, and the average in ns as a float32 in the lower; 0 without.
	peak atomic.Uint64
	// mean is the mean in ns as a float32 in the upper half, and the number of samples up to window/2 in the lower.
	mean atomic.Uint64
	// failures is the share of failures as a float32.
	failures atomic.Uint32
}

// Observe takes in how long the head of a response took, at an instant since the epoch of Request.Now. An answer that
// failed is scored as slow, however fast it came.
func (l *Latency) Observe(sample time.Duration, failed bool, now time.Duration) {
	value, tick := float64(max(sample, 1)), tickOf(now)
	faded := 1.0 // What an idle time has left of what was known, of 1.
	var idle int32
	for {
		old := l.peak.Load()
		average := float64(math.Float32frombits(uint32(old)))
		if old != 0 {
			idle = idleSince(old, tick)
			faded = fade(idle, halfLife)
		}
		last := tick
		if idle == 0 && old != 0 {
			last = uint32(old >> 32)
		}
		if l.peak.CompareAndSwap(old, uint64(last)<<32|uint64(math.Float32bits(float32(peakAfter(average, value, faded, failed))))) {
			break
		}
	}
	l.observeMean(value, faded, failed)
	l.observeFailure(failed, fade(idle, failureHalfLife))
}

// peakAfter returns the average after a sample. A failure tells only how slow a candidate is, never how fast.
func peakAfter(average, value, faded float64, failed bool) float64 {
	switch {
	case average == 0:
		return value
	case value > average:
		return average + (value-average)*rise
	case failed:
		return average
	}
	return value + (average-value)*faded
}

// rise is how much of the way to a slower sample the average goes at once: the rest of a single outlier is not believed.
const rise = 0.5

func (l *Latency) observeMean(value, faded float64, failed bool) {
	for {
		old := l.mean.Load()
		mean, count := float64(math.Float32frombits(uint32(old>>32))), uint32(old)
		if failed && value < mean {
			return
		}
		// Weights of 2/n give a mean that varies as much as the mean of the last n does.
		count = min(count+1, window/2)
		mean += (value - mean) * max(1/float64(count), 1-faded)
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
			share += (1 - share) / 8
		} else if share -= share / 8; share < 1.0/512 {
			share = 0
		}
		if l.failures.CompareAndSwap(old, math.Float32bits(float32(share))) {
			return
		}
	}
}

// peakAt returns the latency in ns that peakewma goes by, 0 when nothing is known.
func (l *Latency) peakAt(now time.Duration) float64 {
	packed := l.peak.Load()
	if packed == 0 {
		return 0
	}
	return l.at(float64(math.Float32frombits(uint32(packed))), idleSince(packed, tickOf(now)))
}

// meanAt returns the latency in ns that leasttime goes by, 0 when nothing is known.
func (l *Latency) meanAt(now time.Duration) float64 {
	mean := l.mean.Load()
	if mean == 0 {
		return 0
	}
	return l.at(float64(math.Float32frombits(uint32(mean>>32))), idleSince(l.peak.Load(), tickOf(now)))
}

// at fades a latency and adds what failures cost.
func (l *Latency) at(value float64, idle int32) float64 {
	value *= fade(idle, halfLife)
	if failures := l.failures.Load(); failures != 0 {
		share := float64(math.Float32frombits(failures)) * fade(idle, failureHalfLife)
		value += share * share * float64(failureCost)
	}
	return value
}

func tickOf(now time.Duration) uint32 { return uint32(uint64(now) >> tickBits) } //nolint:gosec // begins anew, see tickBits

// idleSince returns how many ticks have passed since the one in the upper half; samples that overtake one another are 0.
func idleSince(packed uint64, tick uint32) int32 {
	return max(int32(tick-uint32(packed>>32)), 0) //nolint:gosec // a difference
}

// fade returns 2 to the power of -ticks/half, or rather the straight lines between its values at whole half-lives, which
// need no logarithm.
func fade(ticks int32, half time.Duration) float64 {
	if ticks == 0 {
		return 1
	}
	lives := float64(ticks) * (float64(1<<tickBits) / float64(half))
	whole := min(int(lives), 60)
	rest := min(lives-float64(whole), 1)
	return (1 - rest/2) * math.Float64frombits(uint64(1023-whole)<<52) //nolint:gosec // positive
}
