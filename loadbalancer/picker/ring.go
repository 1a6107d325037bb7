package picker

import (
	"slices"

	"github.com/cespare/xxhash/v2"
)

const (
	// ringBits makes a ring of 2^18 places, which takes 1 MiB whatever the number of candidates.
	ringBits = 18
	// pointsEach is the number of points of the heaviest candidate on the ring. It does not depend on the
	// number of candidates, so that a candidate that joins or leaves moves only its own keys as long as there
	// is room: beyond 128 candidates of equal weight each has fewer points, and one that joins or leaves moves
	// up to twice as many keys as necessary. A candidate's part of the ring is random: with a few candidates
	// its standard deviation is 0.6 % of the ring, with a hundred 2 % of the part.
	pointsEach = 2048
)

// ring is a hash ring of places. Candidates have points on it in proportion to their weights, determined by their IDs
// alone, so that all processes agree; a place belongs to the first point in it, or after it. The ring is immutable, and
// a key finds its candidate in one step.
type ring struct {
	// places are the owners of the places.
	places []uint32
	// owners is how many candidates there are, with points or without.
	owners int
}

func newRing(candidates Candidates, weights []float64) ring {
	firsts := firstPoints(pointCounts(candidates, weights))
	r := ring{places: make([]uint32, len(firsts)), owners: len(weights)}
	after := uint32(0)
	for range 2 { // The second pass continues from the end to the beginning.
		for i := len(firsts) - 1; i >= 0; i-- {
			if firsts[i].owner != 0 {
				after = firsts[i].owner - 1
			}
			r.places[i] = after
		}
	}
	return r
}

// point is the first one in a place.
type point struct {
	// offset is where in the place it is.
	offset uint32
	// owner is one more than the index of the candidate, 0 in an empty place.
	owner uint32
}

func firstPoints(counts []int, seeds []uint64) []point {
	firsts := make([]point, 1<<ringBits)
	for owner, count := range counts {
		for k := range uint64(count) { //nolint:gosec // not negative
			hash := mix(seeds[owner] + k*golden)
			first := &firsts[hash>>(64-ringBits)]
			offset := uint32(hash << ringBits >> 32) //nolint:gosec // 32 bits are left
			// Two points at one offset are in the order of their seeds, so that processes agree whatever the order of their
			// candidates.
			if first.owner == 0 || offset < first.offset || offset == first.offset && seeds[owner] < seeds[first.owner-1] {
				*first = point{offset: offset, owner: uint32(owner) + 1} //nolint:gosec // an index of a slice
			}
		}
	}
	return firsts
}

// pointCounts returns how many points each candidate has, and the number from which its places follow. Fractions are
// rounded up or down by that number, so that many small weights do not vanish, or grow, together.
func pointCounts(candidates Candidates, weights []float64) (counts []int, seeds []uint64) {
	heaviest := slices.Max(weights)
	scale := min(pointsEach/heaviest, (1<<ringBits)/float64(len(weights)))
	counts, seeds = make([]int, len(weights)), make([]uint64, len(weights))
	for i, id := range distinctIDs(candidates) {
		seeds[i] = xxhash.Sum64String(id)
		points := weights[i] * scale
		counts[i] = int(points + float64(mix(seeds[i])>>11)/(1<<53))
		if weights[i] == heaviest {
			counts[i] = max(counts[i], 1)
		}
	}
	return counts, seeds
}

// place returns the place of a hash.
func (r *ring) place(hash uint64) int { return int(hash >> (64 - ringBits)) } //nolint:gosec // few bits are left

// walk goes round the ring and meets each candidate once.
type walk struct {
	ring  *ring
	place int
	seen  [inLine]uint32
	count int
}

// maxSteps is how many places a walk passes in search of the next candidate before it takes any: with very different
// weights a light one may be on the other side of the ring, or not on it at all.
const maxSteps = 4096

// next returns the next candidate; the list must not be empty. At most inLine distinct candidates are returned.
func (w *walk) next() int {
	for range maxSteps {
		owner := w.ring.places[w.place]
		w.place = (w.place + 1) & (1<<ringBits - 1)
		if !slices.Contains(w.seen[:w.count], owner) {
			return w.meet(owner)
		}
	}
	owner := w.ring.places[w.place]
	for slices.Contains(w.seen[:w.count], owner) {
		owner = (owner + 1) % uint32(w.ring.owners) //nolint:gosec // a length
	}
	return w.meet(owner)
}

func (w *walk) meet(owner uint32) int {
	w.seen[w.count] = owner
	w.count++
	return int(owner)
}

// mix spreads the bits of a number over all of it (the finalizer of SplitMix64).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}
