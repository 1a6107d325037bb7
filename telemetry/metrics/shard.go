package metrics

import (
	"sync/atomic"
	"time"
)

// tick is the unit in which durations are summed: 64 bits of it last a hundred thousand concurrent requests for
// half a year.
const tick = 100 * time.Nanosecond

// shard counts the requests of a series that share method, protocol and code.
type shard struct {
	// classic counts by the upper bounds of the series; what lies above the last one is counted by native alone.
	classic        []atomic.Uint64
	native         native
	ticks          atomic.Uint64
	received, sent atomic.Uint64
	// combinations counts by the values of the header labels; nil without header labels.
	combinations atomic.Pointer[[combinationLimit + 1]atomic.Uint64]
}

func newShard(bounds []float64) *shard { return &shard{classic: make([]atomic.Uint64, len(bounds))} }

// add counts a request. The native buckets come first: their sum is the count that is shown, and must not be
// less than what the classic buckets hold.
func (s *shard) add(bounds []float64, o *observation) {
	s.native.add(o.native)
	for i, bound := range bounds {
		if o.seconds <= bound {
			s.classic[i].Add(1)
			break
		}
	}
	s.ticks.Add(o.ticks)
	if o.received > 0 {
		s.received.Add(o.received)
	}
	if o.sent > 0 {
		s.sent.Add(o.sent)
	}
	if o.combination < 0 {
		return
	}
	counts := s.combinations.Load()
	if counts == nil {
		s.combinations.CompareAndSwap(nil, new([combinationLimit + 1]atomic.Uint64))
		counts = s.combinations.Load()
	}
	counts[o.combination].Add(1)
}

// shardCounts is what a shard had counted when it was read.
type shardCounts struct {
	// classic is cumulative: what is at most each bound.
	classic        []uint64
	native         []uint64
	count          uint64
	seconds        float64
	received, sent uint64
	combinations   []uint64
}

// read returns what has been counted, with native buckets in the given memory. Classic buckets are read before
// native ones, for the same reason as they are written after.
func (s *shard) read(native []uint64) shardCounts {
	t := shardCounts{
		classic: make([]uint64, len(s.classic)), native: native,
		received: s.received.Load(), sent: s.sent.Load(), seconds: float64(s.ticks.Load()) * tick.Seconds(),
	}
	if counts := s.combinations.Load(); counts != nil {
		t.combinations = make([]uint64, len(counts))
		for i := range counts {
			t.combinations[i] = counts[i].Load()
		}
	}
	below := uint64(0)
	for i := range s.classic {
		below += s.classic[i].Load()
		t.classic[i] = below
	}
	clear(native)
	t.count = s.native.read(native)
	return t
}
