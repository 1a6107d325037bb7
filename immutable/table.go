package immutable

import "iter"

// table is a hash table with linear probing whose owner supplies the hashes, which are not 0. At most half of its slots
// are in use, so that a lookup touches one cache line for the slot and one for the key.
type table[K, V comparable] struct {
	slots []slot[K, V]
	used  int
}

// slot holds one entry. It is free when its hash is 0.
type slot[K, V comparable] struct {
	hash  uint64
	key   K
	value V
}

// place returns the index of the slot of a key, or of the free one where it belongs. There must be a free slot.
func (t *table[K, V]) place(hash uint64, key K) int {
	mask := len(t.slots) - 1
	i := int(hash>>shardBits) & mask
	for t.slots[i].hash != 0 && (t.slots[i].hash != hash || t.slots[i].key != key) {
		i = (i + 1) & mask
	}
	return i
}

// all yields the slots in use.
func (t *table[K, V]) all() iter.Seq[*slot[K, V]] {
	return func(yield func(*slot[K, V]) bool) {
		for i := range t.slots {
			if t.slots[i].hash != 0 && !yield(&t.slots[i]) {
				return
			}
		}
	}
}

// find returns the slot of a key, or nil.
func (t *table[K, V]) find(hash uint64, key K) *slot[K, V] {
	if len(t.slots) == 0 {
		return nil
	}
	if slot := &t.slots[t.place(hash, key)]; slot.hash != 0 {
		return slot
	}
	return nil
}

// set puts a value under a key and reports whether the key is new. The slots must be owned.
func (t *table[K, V]) set(hash uint64, key K, value V) (added bool) {
	if 2*(t.used+1) > len(t.slots) {
		t.grow()
	}
	i := t.place(hash, key)
	added = t.slots[i].hash == 0
	t.slots[i] = slot[K, V]{hash: hash, key: key, value: value}
	if added {
		t.used++
	}
	return added
}

// grow doubles the room.
func (t *table[K, V]) grow() {
	old := t.slots
	t.slots = make([]slot[K, V], max(4, 2*len(old)))
	for i := range old {
		if old[i].hash != 0 {
			t.slots[t.place(old[i].hash, old[i].key)] = old[i]
		}
	}
}

// remove takes a key out and reports whether it was there. The slots must be owned.
func (t *table[K, V]) remove(hash uint64, key K) bool {
	if len(t.slots) == 0 {
		return false
	}
	hole := t.place(hash, key)
	if t.slots[hole].hash == 0 {
		return false
	}
	t.used--
	mask := len(t.slots) - 1
	for i := (hole + 1) & mask; t.slots[i].hash != 0; i = (i + 1) & mask {
		// An entry may move back into the hole unless that is before the place where its search begins.
		home := int(t.slots[i].hash>>shardBits) & mask
		if (i-home)&mask >= (i-hole)&mask {
			t.slots[hole] = t.slots[i]
			hole = i
		}
	}
	t.slots[hole] = slot[K, V]{}
	return true
}

// shares reports whether two tables are the same memory, so that they hold the same entries.
func (t *table[K, V]) shares(other *table[K, V]) bool {
	return len(t.slots) == len(other.slots) && (len(t.slots) == 0 || &t.slots[0] == &other.slots[0])
}
