package circuitbreaker

import (
	"iter"
	"net/http"
	"sync/atomic"
	"time"
)

// The same periods as oxy's breaker, which Traefik uses: ten seconds for responses, a minute for latencies.
const (
	countWidth, countSlots     = time.Second, 10
	latencyWidth, latencySlots = 10 * time.Second, 6
)

// Indexes of the counters in a slot; those of the status code ranges follow.
const (
	totalCount = iota
	networkCount
	firstRange
)

// window counts the requests of the last seconds.
type window struct {
	ranges    []span
	counts    ring
	latencies ring
	// next is when the condition is checked again.
	next atomic.Int64
}

// span is a range of status codes; to is excluded.
type span struct{ from, to int }

func newWindow(e *expression) *window {
	w := &window{ranges: e.ranges}
	w.counts = newRing(countWidth, countSlots, firstRange+len(e.ranges))
	if e.timed {
		w.latencies = newRing(latencyWidth, latencySlots, bins)
	}
	return w
}

// count counts a response.
func (w *window) count(now time.Duration, status int) {
	counters := w.counts.at(now)
	counters[totalCount].Add(1)
	if status == http.StatusBadGateway || status == http.StatusGatewayTimeout {
		counters[networkCount].Add(1)
	}
	for i, codes := range w.ranges {
		if codes.from <= status && status < codes.to {
			counters[firstRange+i].Add(1)
		}
	}
}

// broke counts a response that began and was not completed.
func (w *window) broke(now time.Duration) { w.counts.at(now)[networkCount].Add(1) }

// took counts a latency.
func (w *window) took(now, latency time.Duration) { w.latencies.at(now)[bin(latency)].Add(1) }

// due reports whether the condition is to be checked; true once per period.
func (w *window) due(now, period time.Duration) bool {
	next := w.next.Load()
	return int64(now) >= next && w.next.CompareAndSwap(next, int64(now+period))
}

// requests returns the number of responses.
func (w *window) requests(now time.Duration) uint64 { return w.counts.sum(now, totalCount) }

// ratio divides one counter by another; 0 if that is 0.
func (w *window) ratio(now time.Duration, part, whole int) float64 {
	divisor := w.counts.sum(now, whole)
	if divisor == 0 {
		return 0
	}
	return float64(w.counts.sum(now, part)) / float64(divisor)
}

// networkErrors returns the share of network errors. A response that breaks off late may have left the window; hence
// the limit.
func (w *window) networkErrors(now time.Duration) float64 {
	failed := w.counts.sum(now, networkCount)
	if failed == 0 {
		return 0
	}
	return float64(failed) / float64(max(failed, w.requests(now)))
}

// ring counts by time slots, which are allocated on demand.
type ring struct {
	width   time.Duration
	numbers int
	slots   []atomic.Pointer[slot]
}

// slot holds the counters of one epoch, a multiple of the slot's width.
type slot struct {
	epoch    int64
	counters []atomic.Uint32
}

func newRing(width time.Duration, slots, numbers int) ring {
	return ring{width: width, numbers: numbers, slots: make([]atomic.Pointer[slot], slots)}
}

// at returns the counters for a time. A very late caller gets those of the slot's current epoch.
func (r *ring) at(now time.Duration) []atomic.Uint32 {
	epoch := int64(now / r.width)
	place := &r.slots[epoch%int64(len(r.slots))]
	for {
		current := place.Load()
		if current != nil && current.epoch >= epoch {
			return current.counters
		}
		fresh := &slot{epoch: epoch, counters: make([]atomic.Uint32, r.numbers)}
		if place.CompareAndSwap(current, fresh) {
			return fresh.counters
		}
	}
}

// counting yields the counters of the current slots.
func (r *ring) counting(now time.Duration) iter.Seq[[]atomic.Uint32] {
	oldest := int64(now/r.width) - int64(len(r.slots))
	return func(yield func([]atomic.Uint32) bool) {
		for i := range r.slots {
			if s := r.slots[i].Load(); s != nil && s.epoch > oldest && !yield(s.counters) {
				return
			}
		}
	}
}

// sum returns the sum of a counter over the current slots.
func (r *ring) sum(now time.Duration, number int) (sum uint64) {
	for counters := range r.counting(now) {
		sum += uint64(counters[number].Load())
	}
	return sum
}
