package index

import (
	"math/bits"
	"slices"
)

// branches are the children of a node by the first byte of their labels. A bit set marks the existing ones, and the
// number of bits before is the index of a child.
type branches[T any] struct {
	present [4]uint64
	nodes   []*node[T]
}

// find returns the place of the child for a byte, and whether there is one.
func (b *branches[T]) find(first byte) (int, bool) {
	const word = 64
	place := 0
	for i := range int(first / word) {
		place += bits.OnesCount64(b.present[i])
	}
	rest := b.present[first/word] >> (first % word)
	place += bits.OnesCount64(b.present[first/word]) - bits.OnesCount64(rest)
	return place, rest&1 != 0
}

// set puts a child under a byte. The nodes must be owned.
func (b *branches[T]) set(first byte, child *node[T]) {
	place, there := b.find(first)
	if there {
		b.nodes[place] = child
		return
	}
	b.toggle(first)
	b.nodes = slices.Insert(b.nodes, place, child)
}

// remove takes out the child of a byte, which must be there.
func (b *branches[T]) remove(first byte) {
	place, _ := b.find(first)
	b.toggle(first)
	b.nodes = slices.Delete(b.nodes, place, place+1)
}

func (b *branches[T]) toggle(first byte) {
	const word = 64
	b.present[first/word] ^= 1 << (first % word)
}
