package metrics

import "sync/atomic"

// table is a hash table that is read without a lock: it is replaced by a larger copy whenever a key is new,
// which happens a few times in the life of a series. Keys are never removed. The zero value is empty.
type table[T any] struct{ slots atomic.Pointer[[]slot[T]] }

// slot holds a key and its value; a slot without a value is free.
type slot[T any] struct {
	key   uint64
	value *T
}

// spread is 2^64 over the golden ratio: multiplying by it spreads neighbouring keys.
const spread = 0x9E3779B97F4A7C15

// find returns the value of a key, or nil.
func (t *table[T]) find(key uint64) *T {
	slots := t.slots.Load()
	if slots == nil {
		return nil
	}
	return (*slots)[place(*slots, key)].value
}

// insert adds a value unless there is one for the key by now, and returns the one that counts.
func (t *table[T]) insert(key uint64, value *T) *T {
	for {
		old := t.slots.Load()
		var next []slot[T]
		if old == nil {
			next = make([]slot[T], 2)
		} else {
			at := place(*old, key)
			if present := (*old)[at].value; present != nil {
				return present
			}
			next = grown(*old)
		}
		next[place(next, key)] = slot[T]{key: key, value: value}
		if t.slots.CompareAndSwap(old, &next) {
			return value
		}
	}
}

// all calls visit with every key and value, in no order.
func (t *table[T]) all(visit func(key uint64, value *T)) {
	slots := t.slots.Load()
	if slots == nil {
		return
	}
	for _, s := range *slots {
		if s.value != nil {
			visit(s.key, s.value)
		}
	}
}

// place returns where a key is, or the free slot where it would go. Half of the slots are free at least.
func place[T any](slots []slot[T], key uint64) int {
	mask := len(slots) - 1
	at := int((key+1)*spread>>32) & mask
	for slots[at].value != nil && slots[at].key != key {
		at = (at + 1) & mask
	}
	return at
}

// grown returns a copy with room for one more.
func grown[T any](slots []slot[T]) []slot[T] {
	used := 0
	for _, s := range slots {
		if s.value != nil {
			used++
		}
	}
	size := len(slots)
	if 2*(used+1) > size {
		size *= 2
	}
	next := make([]slot[T], size)
	for _, s := range slots {
		if s.value != nil {
			next[place(next, s.key)] = s
		}
	}
	return next
}
