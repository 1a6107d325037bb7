package picker

import "math/rand/v2"

// source is where random numbers come from. Its zero value is the runtime's, which takes no lock; a simulation has a
// seeded one.
type source struct{ seeded *rand.Rand }

func (s source) next() uint64 {
	if s.seeded != nil {
		return s.seeded.Uint64()
	}
	return rand.Uint64()
}
