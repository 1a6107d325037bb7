package storage

import (
	"bytes"
	"slices"
	"strings"
)

// Diff returns the changes that lead from the values before to those after, ordered by key. Values that are equal are
// left out.
func Diff(before, after map[Key][]byte) []Change {
	var changes []Change
	for key, value := range after {
		if old, ok := before[key]; !ok || !bytes.Equal(old, value) {
			changes = append(changes, Change{Key: key, Value: present(value)})
		}
	}
	for key := range before {
		if _, ok := after[key]; !ok {
			changes = append(changes, Change{Key: key})
		}
	}
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(EncodeKey(a.Key), EncodeKey(b.Key)) })
	return changes
}

// present returns a value that is not nil, since nil means a deletion.
func present(value []byte) []byte {
	if value == nil {
		return []byte{}
	}
	return value
}
