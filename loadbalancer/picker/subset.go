package picker

// pickOfSubset returns a candidate of the subset of the key at random, or one after it that is within its bound. The
// candidates are divided into subsets of one size by their order, and the last one is filled up with the first
// candidates. Further attempts go through the subset, and then through those after it.
func (h *hashing) pickOfSubset(r *Request) int {
	count, size := len(h.lines), min(h.key.SubsetSize, len(h.lines))
	subsets := (count + size - 1) / size
	subset := jump(h.hash(r), subsets)
	if r.Attempt >= size {
		return (subset*size + r.Attempt) % count
	}
	start := int(h.random.next() % uint64(size)) //nolint:gosec // at least 1, and less than the number of candidates
	for i := range size {
		if member := (subset*size + (start+i+r.Attempt)%size) % count; h.room(member) {
			return member
		}
	}
	return (subset*size + (start+r.Attempt)%size) % count
}

// jump returns the bucket of a hash among a number of them (Lamping and Veach, 2014): one bucket more takes its part
// of the keys from all others, and moves no other key.
func jump(hash uint64, buckets int) int {
	bucket, next := 0, 0
	for next < buckets {
		bucket = next
		hash = hash*2862933555777941757 + 1
		next = int(float64(bucket+1) * (float64(1<<31) / float64(hash>>33+1)))
	}
	return bucket
}
