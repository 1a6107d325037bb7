package index

// table is a hash table with linear probing whose owner supplies the hashes, which are not 0. At most half of its slots are in use, so
// that a lookup touches one cache line for the slot and one for the key, which the rule of the route found there
// compares anyway.
type table[V any] struct {
	slots []slot[V]
	used  int
}

// slot holds one entry. It is free when its hash is 0.
type slot[V any] struct {
	hash  uint64
	key   string
	value V
}

// find returns the slot of a key, or the free one where it belongs. There must be a free slot.
func (t *table[V]) find(hash uint64, key string) int {
	mask := len(t.slots) - 1
	i := int(hash>>shardBits) & mask
	for t.slots[i].hash != 0 && (t.slots[i].hash != hash || t.slots[i].key != key) {
		i = (i + 1) & mask
	}
	return i
}

// get returns the value of a key, or the zero value.
func (t *table[V]) get(hash uint64, key string) V {
	if len(t.slots) == 0 {
		var none V
		return none
	}
	return t.slots[t.find(hash, key)].value
}

// set puts a value under a key and reports whether the key is new. The slots must be owned.
func (t *table[V]) set(hash uint64, key string, value V) (added bool) {
	if 2*(t.used+1) > len(t.slots) {
		t.grow()
	}
	i := t.find(hash, key)
	added = t.slots[i].hash == 0
	t.slots[i] = slot[V]{hash: hash, key: key, value: value}
	if added {
		t.used++
	}
	return added
}

// grow doubles the room.
func (t *table[V]) grow() {
	old := t.slots
	t.slots = make([]slot[V], max(4, 2*len(old)))
	for i := range old {
		if old[i].hash != 0 {
			t.slots[t.find(old[i].hash, old[i].key)] = old[i]
		}
	}
}

// remove takes a key out and reports whether it was there. The slots must be owned.
func (t *table[V]) remove(hash uint64, key string) bool {
	if len(t.slots) == 0 {
		return false
	}
	hole := t.find(hash, key)
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
	t.slots[hole] = slot[V]{}
	return true
}
