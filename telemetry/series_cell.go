package telemetry

import (
	"sync/atomic"
	"time"
)

// tick is the unit in which durations are summed: 64 bits of it last a hundred thousand concurrent requests for half a year.
const tick = 100 * time.Nanosecond

// cell counts the requests of a series that share method, protocol and code.
type cell struct {
	// classic counts by the upper bounds of the series; what lies above the last one is counted by native alone.
	classic        []atomic.Uint64
	native         native
	ticks          atomic.Uint64
	received, sent atomic.Uint64
	// combinations counts by the values of the header labels; nil without header labels.
	combinations atomic.Pointer[[combinationLimit + 1]atomic.Uint64]
}

func newCell(bounds []float64) *cell { return &cell{classic: make([]atomic.Uint64, len(bounds))} }

// add counts a request. The native buckets come first: their sum is the count that is shown, and must not be less than what
// the classic buckets hold.
func (c *cell) add(bounds []float64, o *observation) {
	c.native.add(o.native)
	for i, bound := range bounds {
		if o.seconds <= bound {
			c.classic[i].Add(1)
			break
		}
	}
	c.ticks.Add(o.ticks)
	if o.received > 0 {
		c.received.Add(o.received)
	}
	if o.sent > 0 {
		c.sent.Add(o.sent)
	}
	if o.combination < 0 {
		return
	}
	counts := c.combinations.Load()
	if counts == nil {
		c.combinations.CompareAndSwap(nil, new([combinationLimit + 1]atomic.Uint64))
		counts = c.combinations.Load()
	}
	counts[o.combination].Add(1)
}

// tally is what a cell had counted when it was read.
type tally struct {
	// classic is cumulative: what is at most each bound.
	classic        []uint64
	native         []uint64
	count          uint64
	seconds        float64
	received, sent uint64
	combinations   []uint64
}

// read returns what has been counted, with native buckets in the given memory. Classic buckets are read before native ones, for the same
// reason as they are written after.
func (c *cell) read(native []uint64) tally {
	t := tally{
		classic: make([]uint64, len(c.classic)), native: native,
		received: c.received.Load(), sent: c.sent.Load(), seconds: float64(c.ticks.Load()) * tick.Seconds(),
	}
	if counts := c.combinations.Load(); counts != nil {
		t.combinations = make([]uint64, len(counts))
		for i := range counts {
			t.combinations[i] = counts[i].Load()
		}
	}
	below := uint64(0)
	for i := range c.classic {
		below += c.classic[i].Load()
		t.classic[i] = below
	}
	clear(native)
	t.count = c.native.read(native)
	return t
}

// cumulative reads how many requests took at most as long as each of the picked bounds.
func (c *cell) cumulative(picked []int, into []uint64) {
	sum, at := uint64(0), 0
	for i := range c.classic {
		sum += c.classic[i].Load()
		if at < len(picked) && picked[at] == i {
			into[at] = sum
			at++
		}
	}
}
