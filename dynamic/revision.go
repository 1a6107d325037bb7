package dynamic

// Revision relates a Configuration to those that were built before it from the same beginning, so that a reader that knows
// an earlier one looks only at the objects that were written to since. A nil Revision relates to nothing.
//
// Each Revision refers to the next one and to none before it: one that is not referred to by any Configuration is freed.
type Revision struct {
	chain   *revisionChain
	number  uint64
	written []Ref // since the revision before
	next    *Revision
}

// revisionChain identifies the revisions of one beginning. Its size is not zero, because pointers to distinct values of size
// zero may be equal.
type revisionChain struct{ _ byte }

// NewRevision returns the first Revision of a beginning.
func NewRevision() *Revision { return &Revision{chain: &revisionChain{}} }

// Next returns the Revision that follows when objects are written to: added, replaced or removed. It is called once for each
// Revision, by the goroutine that sends the Configuration of the next one afterwards.
func (r *Revision) Next(written []Ref) *Revision {
	r.next = &Revision{chain: r.chain, number: r.number + 1, written: written}
	return r.next
}

// Since returns the objects that were written to after an earlier Revision, some of them perhaps several times. It is not ok
// when the two do not relate to each other.
func (r *Revision) Since(before *Revision) (written []Ref, ok bool) {
	if r == nil || before == nil || r.chain != before.chain || before.number > r.number {
		return nil, false
	}
	for before != r {
		before = before.next
		written = append(written, before.written...)
	}
	return written, true
}
