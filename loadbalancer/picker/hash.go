package picker

import (
	"math"
	"strconv"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"

	"github.com/sluiceproxy/sluice/nginx/variable"
)

const (
	// allowance is how many requests more than its bound a candidate may have in flight. One browser has that many, and
	// where there are few requests chance alone brings as many together; a bound that is a fraction of little would tear
	// clients apart for nothing.
	allowance = 8
	// inLine is how many candidates are considered when those before them are full.
	inLine = 16
)

// hashing implements consistent hashing with bounded loads (Mirrokni, Thorup and Zadimoghaddam, 2016): a
// candidate above its part of the requests in flight is skipped for the next one on the ring. Requests without
// the key are hashed by client address, and picked at random without one.
type hashing struct {
	key Hash
	// text is the key of the source expression.
	text   variable.Template
	ring   ring
	lines  []bounded
	state  *State
	random source
}

// bounded is what a bound on the load needs of a candidate.
type bounded struct {
	inFlight *atomic.Int64
	// share is the part of what the list has in flight that the candidate may have, 0 without a bound.
	share float64
	// inverse is 1 / weight relative to the mean.
	inverse float64
}

func newHashing(key Hash, candidates Candidates, state *State, random source) *hashing {
	weights, _ := relativeWeights(candidates)
	h := &hashing{key: key, lines: make([]bounded, len(weights)), state: state, random: random}
	h.text, _ = key.template() // NewStrategy has parsed it.
	if key.SubsetSize == 0 {
		h.ring = newRing(candidates, weights)
	}
	for i := range h.lines {
		candidate := candidates.At(i)
		share := weights[i] / float64(len(weights)) * float64(key.BoundedLoad) / 100
		h.lines[i] = bounded{inFlight: candidate.inFlight(), share: share, inverse: 1 / weights[i]}
	}
	return h
}

// Pick returns the candidate of the key, or the next one on the ring when that one is over its bound or was
// refused.
func (h *hashing) Pick(r *Request) int {
	if h.key.SubsetSize > 0 {
		return h.pickOfSubset(r)
	}
	place := h.ring.place(h.hash(r))
	if r.Attempt == 0 {
		if owner := int(h.ring.places[place]); h.room(owner) {
			return owner
		}
	}
	return h.further(r.Attempt, place)
}

// hash returns the position of the request on the ring: by key, else by client address, else at random. The key of an
// expression may be empty.
func (h *hashing) hash(r *Request) uint64 {
	if h.key.Expression != "" && r.HTTP != nil {
		var space [512]byte
		return xxhash.Sum64(h.text.Append(space[:0], (*expressionValues)(r)))
	}
	key := h.key.of(r)
	if key == "" {
		key = r.Client
	}
	if key == "" {
		return h.random.next()
	}
	return xxhash.Sum64String(key)
}

// room reports whether a candidate may take one more request.
func (h *hashing) room(candidate int) bool {
	line := &h.lines[candidate]
	if line.share == 0 {
		return true
	}
	return float64(line.inFlight.Load()-allowance) < math.Ceil(line.share*float64(h.state.InFlight.Load()+1))
}

// further returns the next candidate within its bound after skipping as many candidates as there were attempts.
func (h *hashing) further(attempt, place int) int {
	attempt %= len(h.lines)
	walk := walk{ring: &h.ring, place: place}
	for range min(attempt, inLine-1) {
		walk.next()
	}
	first := walk.count
	total := 0.0
	for walk.count < min(len(h.lines), inLine) {
		next := walk.next()
		if h.room(next) {
			return next
		}
		total += h.load(next)
	}
	// All in line are full, which happens when the candidates are busy with requests of other lists. Then those in
	// line are compared with one another instead, so that keys stay where they are as far as the load allows.
	line := walk.seen[first:walk.count]
	limit := total / float64(len(line)) * float64(h.key.BoundedLoad) / 100
	for _, candidate := range line {
		if h.load(int(candidate)) <= limit {
			return int(candidate)
		}
	}
	return int(line[0])
}

func (h *hashing) load(candidate int) float64 {
	line := &h.lines[candidate]
	return float64(line.inFlight.Load()) * line.inverse
}

// distinctIDs returns the IDs of the candidates. Of those that are equal all but the first get a number, since
// equal hashes would leave all but one without requests.
func distinctIDs(candidates Candidates) []string {
	ids, seen := make([]string, candidates.Len()), make(map[string]int, candidates.Len())
	for i := range ids {
		id := candidates.At(i).ID
		ids[i] = id
		if seen[id]++; seen[id] > 1 {
			ids[i] = id + "#" + strconv.Itoa(seen[id])
		}
	}
	return ids
}
