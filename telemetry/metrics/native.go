package metrics

import (
	"math"
	"sync/atomic"
)

// Native buckets are those of Prometheus at schema 3: eight to an octave, so that a quantile is off by less
// than 5 %. Bucket 0 holds what is at most 2^nativeLowest seconds, and bucket i > 0 what is above
// nativeBound(i-1) and at most nativeBound(i).
const (
	nativeSchema    = 3
	nativePerOctave = 1 << nativeSchema
	// nativeLowest is the exponent of the shortest duration with a bucket of its own, just under a microsecond;
	// the highest one is beyond what a time.Duration can hold.
	nativeLowest  = -20
	nativeHighest = 36
	// nativeBuckets counts all buckets.
	nativeBuckets = (nativeHighest-nativeLowest)*nativePerOctave + 1
	// nativeBlock is how many buckets are allocated together: four octaves.
	nativeBlock  = 4 * nativePerOctave
	nativeBlocks = (nativeHighest - nativeLowest) * nativePerOctave / nativeBlock
)

// native counts durations in native buckets. Blocks appear when they are first needed.
type native struct {
	zero   atomic.Uint64
	blocks [nativeBlocks]atomic.Pointer[[nativeBlock]atomic.Uint64]
}

// add counts a duration by its bucket (nativeIndex).
func (n *native) add(index int) {
	if index == 0 {
		n.zero.Add(1)
		return
	}
	index--
	block := n.blocks[index/nativeBlock].Load()
	if block == nil {
		n.blocks[index/nativeBlock].CompareAndSwap(nil, new([nativeBlock]atomic.Uint64))
		block = n.blocks[index/nativeBlock].Load()
	}
	block[index%nativeBlock].Add(1)
}

// read adds the counts to those of nativeBuckets buckets, and returns their sum.
func (n *native) read(into []uint64) uint64 {
	total := n.zero.Load()
	into[0] += total
	for i := range n.blocks {
		block := n.blocks[i].Load()
		if block == nil {
			continue
		}
		for j := range block {
			count := block[j].Load()
			into[1+i*nativeBlock+j] += count
			total += count
		}
	}
	return total
}

// count returns the sum of all buckets.
func (n *native) count() uint64 {
	total := n.zero.Load()
	for i := range n.blocks {
		if block := n.blocks[i].Load(); block != nil {
			for j := range block {
				total += block[j].Load()
			}
		}
	}
	return total
}

// nativeIndex returns the bucket of a duration in seconds.
func nativeIndex(seconds float64) int {
	if !(seconds > 0) {
		return 0
	}
	fraction, exponent := math.Frexp(seconds)
	index := (exponent-1-nativeLowest)*nativePerOctave + nativeStep(fraction)
	return max(0, min(index, nativeBuckets-1))
}

// nativeStep returns how many steps of an octave a fraction from 0.5 to 1 is above 0.5, rounded up.
func nativeStep(fraction float64) int {
	for i, bound := range nativeSteps() {
		if fraction <= bound {
			return i
		}
	}
	return nativePerOctave
}

// nativeSteps are the bounds within an octave: 2^(i/8) halved, rounded as client_golang has them.
func nativeSteps() [nativePerOctave]float64 {
	return [...]float64{
		0.5, 0.5452538663326288, 0.5946035575013605, 0.6484197773255048,
		0.7071067811865475, 0.7711054127039704, 0.8408964152537144, 0.9170040432046711,
	}
}

// nativeBound returns the upper bound of a bucket in seconds.
func nativeBound(index int) float64 {
	octave := index / nativePerOctave
	return math.Ldexp(nativeSteps()[index%nativePerOctave], octave+nativeLowest+1)
}
