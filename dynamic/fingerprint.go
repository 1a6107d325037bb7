package dynamic

import (
	"fmt"
	"reflect"

	"github.com/mitchellh/hashstructure/v2"
)

// Fingerprint hashes one translated object. Equal objects have equal fingerprints; equal fingerprints must be confirmed
// with Equal, since the hash takes a nil pointer for a pointer to zero and a nil slice for an empty one.
func Fingerprint(object any) (uint64, error) {
	sum, err := hashstructure.Hash(object, hashstructure.FormatV2, nil)
	if err != nil {
		return 0, fmt.Errorf("fingerprint of %T: %w", object, err)
	}
	return sum, nil
}

// Equal reports whether two objects are equal; nil and empty differ.
func Equal(a, b any) bool { return reflect.DeepEqual(a, b) }
