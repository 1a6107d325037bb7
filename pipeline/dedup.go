package pipeline

import (
	"github.com/sluiceproxy/sluice/dynamic"
)

// object is what is remembered of one declared object.
type object struct {
	// declared is the pointer that its provider sent last; the next message is compared with it first.
	declared any
	// kept is the pointer in the merged configuration: the oldest one of the same value.
	kept any
	ref  dynamic.Ref
	// sum is the fingerprint of kept; it is computed when a second pointer first turns up, and never again.
	sum    uint64
	summed bool
}

// renew takes the next pointer that the provider sent for the object and reports whether the object has changed.
// Equal pointers are equal; equal fingerprints are confirmed by value, and then the old pointer stays.
func (o *object) renew(next any) (changed bool) {
	if next == o.declared || next == o.kept {
		o.declared = next
		return false
	}
	o.declared = next
	sum, err := dynamic.Fingerprint(next)
	if err == nil && o.fingerprint() && o.sum == sum && dynamic.Equal(o.kept, next) {
		return false
	}
	o.kept, o.sum, o.summed = next, sum, err == nil
	return true
}

// fingerprint makes sure that sum is there; it reports false for a value that cannot be hashed, which then counts as
// changed whenever its pointer has.
func (o *object) fingerprint() bool {
	if o.summed {
		return true
	}
	sum, err := dynamic.Fingerprint(o.kept)
	o.sum, o.summed = sum, err == nil
	return o.summed
}
