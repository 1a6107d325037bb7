package index

import (
	"hash/maphash"
	"maps"
)

// shardCount is how many maps a [shards] is divided into. An update copies only those that it touches.
const shardCount = 256

// shards is a persistent map from strings.
type shards[V any] struct {
	seed   maphash.Seed
	size   int
	tables [shardCount]shard[V]
}

// shard is one of the maps. It belongs to the edit that made it.
type shard[V any] struct {
	edit    *edit
	entries map[string]V
}

func newShards[V any]() *shards[V] { return &shards[V]{seed: maphash.MakeSeed()} }

// get returns the value of a key, or the zero value.
func (s *shards[V]) get(key string) V {
	return s.tables[s.slot(key)].entries[key]
}

func (s *shards[V]) slot(key string) uint64 { return maphash.String(s.seed, key) % shardCount }

// copied returns a copy that shares all maps with the original.
func (s *shards[V]) copied() *shards[V] {
	next := *s
	return &next
}

// own returns the map of a key, copied unless the edit has copied it already.
func (s *shards[V]) own(e *edit, key string) map[string]V {
	t := &s.tables[s.slot(key)]
	if t.edit != e {
		t.edit, t.entries = e, maps.Clone(t.entries)
	}
	if t.entries == nil {
		t.entries = make(map[string]V)
	}
	return t.entries
}

func (s *shards[V]) set(e *edit, key string, value V) {
	m := s.own(e, key)
	before := len(m)
	m[key] = value
	s.size += len(m) - before
}

func (s *shards[V]) remove(e *edit, key string) {
	m := s.own(e, key)
	before := len(m)
	delete(m, key)
	s.size += len(m) - before
}
