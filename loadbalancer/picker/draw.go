package picker

import (
	"math/bits"
	"math/rand/v2"
)

// source is where random numbers come from. Its zero value is the runtime's, which takes no lock; a simulation has a
// seeded one.
type source struct{ seeded *rand.Rand }

func (s source) next() uint64 {
	if s.seeded != nil {
		return s.seeded.Uint64()
	}
	return rand.Uint64()
}

// aliasTable draws indexes in proportion to their weights in constant time (Walker's alias method). It is immutable.
type aliasTable struct {
	size uint64
	// slots are as many as there are indexes; nil when all weights are equal.
	slots []slot
}

// slot is one column of the aliasTable: its own index up to the level, and the other one above.
type slot struct {
	level uint32
	other uint32
}

// newAliasTable takes weights relative to their mean, which add up to their number.
func newAliasTable(weights []float64, equal bool) aliasTable {
	u := aliasTable{size: uint64(len(weights))}
	if equal {
		return u
	}
	u.slots = make([]slot, len(weights))
	left := make([]float64, len(weights))
	copy(left, weights)
	var poor, rich []uint32
	for i, weight := range weights {
		u.slots[i] = slot{level: 1<<32 - 1, other: uint32(i)} //nolint:gosec // an index of a slice
		if weight < 1 {
			poor = append(poor, uint32(i)) //nolint:gosec // as above
		} else {
			rich = append(rich, uint32(i)) //nolint:gosec // as above
		}
	}
	for len(poor) > 0 && len(rich) > 0 {
		small, large := poor[len(poor)-1], rich[len(rich)-1]
		poor = poor[:len(poor)-1]
		u.slots[small] = slot{level: uint32(left[small] * (1 << 32)), other: large}
		if left[large] -= 1 - left[small]; left[large] < 1 {
			rich = rich[:len(rich)-1]
			poor = append(poor, large)
		}
	}
	return u
}

// at returns the index for a random number, and what is left of the randomness.
func (u *aliasTable) at(random uint64) (index int, rest uint64) {
	place, rest := bits.Mul64(random, u.size)
	if u.slots != nil {
		s := u.slots[place]
		other := uint64(s.other)
		if uint32(rest>>32) >= s.level { // Both are at hand, so that no branch has to be guessed.
			place = other
		}
	}
	return int(place), rest //nolint:gosec // less than the number of indexes
}
