package picker

import (
	"cmp"
	"math/bits"
	"slices"
)

const (
	// maxSequence bounds the length of a precomputed order, and so the memory and time of a snapshot.
	maxSequence = 8192
	// maxWeight keeps a sum of a million weights, each times maxScale, from overflow.
	maxWeight = 1 << 24
	// golden is 2^64 divided by the golden ratio: its multiples modulo 2^64 spread as evenly as any can.
	golden = 0x9E3779B97F4A7C15
)

// sequence maps a growing cursor to indexes in proportion to their weights, spread evenly. It is immutable.
type sequence struct {
	// length is the number of indexes when all weights are equal, the order's length when there is one, and 0 when
	// nothing may be picked or bounds decide.
	length uint64
	// order is one whole round; nil when all weights are equal.
	order []uint32
	// bounds are running sums of the weights when a round would be too long to write down.
	bounds []uint64
	// starts are where to begin the search in bounds for equal parts of their last, as many as there are bounds.
	starts []uint32
}

// newSequence takes weights of at least 0 each.
func newSequence(weights []uint64) sequence {
	divisor, total, equal := uint64(0), uint64(0), true
	for _, weight := range weights {
		divisor = gcd(divisor, weight)
		total += weight
		equal = equal && weight == weights[0]
	}
	switch {
	case total == 0:
		return sequence{}
	case equal:
		return sequence{length: uint64(len(weights))}
	case total/divisor <= maxSequence:
		order := smoothOrder(weights, divisor)
		return sequence{length: uint64(len(order)), order: order}
	}
	return sequence{bounds: runningSums(weights), starts: searchStarts(weights, total)}
}

func runningSums(weights []uint64) []uint64 {
	bounds, sum := make([]uint64, len(weights)), uint64(0)
	for i, weight := range weights {
		sum += weight
		bounds[i] = sum
	}
	return bounds
}

// searchStarts returns for each of as many equal parts of the total as there are weights the first index that
// may be found in it, so that a search takes about one step however many there are.
func searchStarts(weights []uint64, total uint64) []uint32 {
	starts := make([]uint32, len(weights))
	index, sum := 0, weights[0]
	for part := range starts {
		high, low := bits.Mul64(total, uint64(part)) //nolint:gosec // an index
		first, _ := bits.Div64(high, low, uint64(len(weights)))
		for sum <= first {
			index++
			sum += weights[index]
		}
		starts[part] = uint32(index) //nolint:gosec // an index of a slice
	}
	return starts
}

// at returns the index at the cursor, or -1 when nothing may be picked.
func (s *sequence) at(cursor uint64) int {
	switch {
	case s.order != nil:
		return int(s.order[cursor%s.length])
	case s.length > 0:
		return int(cursor % s.length) //nolint:gosec // less than the number of indexes
	case s.bounds == nil:
		return -1
	}
	place := cursor * golden
	point, _ := bits.Mul64(place, s.bounds[len(s.bounds)-1])
	part, _ := bits.Mul64(place, uint64(len(s.bounds)))
	index := int(s.starts[part])
	for s.bounds[index] <= point {
		index++
	}
	return index
}

// smoothOrder writes down one round. An index of weight w comes at w evenly spaced points of time; indexes of equal
// weight are staggered, so that their turns interleave instead of meeting.
func smoothOrder(weights []uint64, divisor uint64) []uint32 {
	group, seen := map[uint64]int{}, map[uint64]int{}
	for _, weight := range weights {
		group[weight]++
	}
	type turn struct {
		at    float64
		index uint32
	}
	var turns []turn
	for i, weight := range weights {
		if weight == 0 {
			continue
		}
		phase := (float64(seen[weight]) + 0.5) / float64(group[weight])
		seen[weight]++
		count := weight / divisor
		for k := range count {
			turns = append(turns, turn{(float64(k) + phase) / float64(count), uint32(i)}) //nolint:gosec // an index of a slice
		}
	}
	slices.SortFunc(turns, func(a, b turn) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.index, b.index))
	})
	order := make([]uint32, len(turns))
	for i, next := range turns {
		order[i] = next.index
	}
	return order
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
