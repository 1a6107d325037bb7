package index

import (
	"hash/maphash"
	"slices"
)

// shardBits is how many bits of a hash choose the table of a key.
const shardBits = 8

// shards is a persistent map from strings: an update copies only the tables that it touches.
type shards[V any] struct {
	seed   maphash.Seed
	size   int
	tables [1 << shardBits]shard[V]
}

// shard is one table. It belongs to the edit that made it.
type shard[V any] struct {
	table[V]

	edit *edit
}

func newShards[V any]() *shards[V] { return &shards[V]{seed: maphash.MakeSeed()} }

// get returns the value of a key, or the zero value.
func (s *shards[V]) get(key string) V {
	hash := s.hash(key)
	return s.tables[hash%(1<<shardBits)].get(hash, key)
}

// hash returns the hash of a key. It is never 0, which marks free slots.
func (s *shards[V]) hash(key string) uint64 {
	const used = 1 << 63
	return maphash.String(s.seed, key) | used
}

// copied returns a copy that shares all tables with the original.
func (s *shards[V]) copied() *shards[V] {
	next := *s
	return &next
}

// own returns the table of a hash, copied unless the edit has copied it already.
func (s *shards[V]) own(e *edit, hash uint64) *table[V] {
	t := &s.tables[hash%(1<<shardBits)]
	if t.edit != e {
		t.edit, t.slots = e, slices.Clone(t.slots)
	}
	return &t.table
}

// set puts a value under a key.
func (s *shards[V]) set(e *edit, key string, value V) {
	hash := s.hash(key)
	if s.own(e, hash).set(hash, key, value) {
		s.size++
	}
}

// remove takes a key out.
func (s *shards[V]) remove(e *edit, key string) {
	hash := s.hash(key)
	if s.own(e, hash).remove(hash, key) {
		s.size--
	}
}
