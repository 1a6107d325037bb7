// Package immutable holds a map of which each version stays as it is.
//
// An edit returns a new version that shares with the one before all but what the edit touches, so that it costs about
// the same in a small map and in a large one, and two versions are compared at the cost of the edits between them.
// Readers of any goroutine may go on with an older version meanwhile.
package immutable

import (
	"bytes"
	"encoding/json"
	"hash/maphash"
	"iter"
	"maps"
	"slices"

	"github.com/sluiceproxy/sluice/redact"
)

const (
	// blockBits is how many bits of a hash choose the block of a key, and as many the table in it: as many as the largest
	// map has blocks. shardBits is both.
	blockBits = 6
	shardBits = 2 * blockBits
	// fewEntries is the size up to which a map is a single table, and manyEntries the one up to which it has fewBlocks.
	fewEntries  = 64
	manyEntries = 8192
	fewBlocks   = 4
)

// Map is a map that does not change. The zero value is empty. It is a persistent hash table: blocks of 64 tables, of
// which an edit copies those that it writes to.
type Map[K, V comparable] struct {
	seed   maphash.Seed
	size   int
	blocks []block[K, V]
	edit   *Edit // that copied blocks
}

// block is a number of tables. It belongs to the edit that copied it.
type block[K, V comparable] struct {
	shards []shard[K, V]
	edit   *Edit
}

// shard is one table. It belongs to the edit that copied it.
type shard[K, V comparable] struct {
	table[K, V]

	edit *Edit
}

// Edit marks what a series of writes has copied already, which the next write of the series changes in place. Its size
// is not zero, because pointers to distinct values of size zero may be equal.
type Edit struct{ _ byte }

// Of returns a map with the entries of a Go map.
func Of[K, V comparable](entries map[K]V) Map[K, V] { return Collect(maps.All(entries)) }

// Collect returns a map with the given entries. Of one key the last one counts.
func Collect[K, V comparable](entries iter.Seq2[K, V]) Map[K, V] {
	var m Map[K, V]
	e := new(Edit)
	for key, value := range entries {
		m.Set(e, key, value)
	}
	return m
}

// Len returns the number of entries.
func (m Map[K, V]) Len() int { return m.size }

// IsZero reports whether the map is empty; encoding/json omits it then where the tag says omitzero.
func (m Map[K, V]) IsZero() bool { return m.size == 0 }

// Get returns the value of a key, or the zero value.
func (m Map[K, V]) Get(key K) V {
	value, _ := m.Find(key)
	return value
}

// Find returns the value of a key, and whether there is one.
func (m Map[K, V]) Find(key K) (value V, found bool) {
	if m.size == 0 {
		return value, false
	}
	hash := m.hash(key)
	if slot := m.shard(hash).find(hash, key); slot != nil {
		return slot.value, true
	}
	return value, false
}

// All yields all entries, in no order.
func (m Map[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for i := range m.blocks {
			for j := range m.blocks[i].shards {
				for slot := range m.blocks[i].shards[j].all() {
					if !yield(slot.key, slot.value) {
						return
					}
				}
			}
		}
	}
}

// Keys yields all keys, in no order.
func (m Map[K, V]) Keys() iter.Seq[K] { return m.apart(Map[K, V]{}) }

// Changed yields, in no order, the keys whose values differ from those of an earlier version, and those that only one
// of both has.
func (m Map[K, V]) Changed(before Map[K, V]) iter.Seq[K] {
	return func(yield func(K) bool) {
		for key := range m.apart(before) {
			value, _ := m.Find(key)
			if old, found := before.Find(key); (!found || old != value) && !yield(key) {
				return
			}
		}
		for key := range before.apart(m) {
			if _, found := m.Find(key); !found && !yield(key) {
				return
			}
		}
	}
}

// Same reports whether two maps are one version, or share everything.
func (m Map[K, V]) Same(other Map[K, V]) bool {
	for range m.Changed(other) {
		return false
	}
	return true
}

// apart yields the keys of the tables that another version does not share.
func (m Map[K, V]) apart(other Map[K, V]) iter.Seq[K] {
	return func(yield func(K) bool) {
		related := m.seed == other.seed && len(m.blocks) == len(other.blocks)
		for i := range m.blocks {
			shards := m.blocks[i].shards
			if related && &shards[0] == &other.blocks[i].shards[0] {
				continue
			}
			for j := range shards {
				if related && shards[j].shares(&other.blocks[i].shards[j].table) {
					continue
				}
				for slot := range shards[j].all() {
					if !yield(slot.key) {
						return
					}
				}
			}
		}
	}
}

// With returns a version with a value under a key.
func (m Map[K, V]) With(key K, value V) Map[K, V] {
	m.Set(new(Edit), key, value)
	return m
}

// Without returns a version that lacks a key.
func (m Map[K, V]) Without(key K) Map[K, V] {
	m.Delete(new(Edit), key)
	return m
}

// Set puts a value under a key, in this variable. Copies of it stay as they are if they were made before the first
// write of the edit; the edit must not be used after a copy was handed out.
func (m *Map[K, V]) Set(e *Edit, key K, value V) {
	switch blocks := len(m.blocks); {
	case blocks == 0:
		m.seed, m.blocks, m.edit = maphash.MakeSeed(), []block[K, V]{{make([]shard[K, V], 1), e}}, e
	case blocks == 1 && m.size == fewEntries:
		m.spread(e, fewBlocks)
	case blocks == fewBlocks && m.size == manyEntries:
		m.spread(e, 1<<blockBits)
	}
	hash := m.hash(key)
	if m.own(e, hash).set(hash, key, value) {
		m.size++
	}
}

// Delete takes a key out, in this variable, as Set does.
func (m *Map[K, V]) Delete(e *Edit, key K) {
	if _, found := m.Find(key); !found {
		return
	}
	hash := m.hash(key)
	m.own(e, hash).remove(hash, key)
	m.size--
}

// spread distributes the entries among that many blocks.
func (m *Map[K, V]) spread(e *Edit, blocks int) {
	before := *m
	m.blocks, m.edit = make([]block[K, V], blocks), e
	for i := range m.blocks {
		m.blocks[i] = block[K, V]{make([]shard[K, V], 1<<blockBits), e}
	}
	for key, value := range before.All() {
		hash := m.hash(key)
		m.own(e, hash).set(hash, key, value)
	}
}

// own returns the table of a hash, copied unless the edit has copied it already.
func (m *Map[K, V]) own(e *Edit, hash uint64) *table[K, V] {
	if m.edit != e {
		m.edit, m.blocks = e, slices.Clone(m.blocks)
	}
	if b := m.block(hash); b.edit != e {
		b.edit, b.shards = e, slices.Clone(b.shards)
	}
	s := m.shard(hash)
	if s.edit != e {
		s.edit, s.slots = e, slices.Clone(s.slots)
	}
	return &s.table
}

func (m *Map[K, V]) block(hash uint64) *block[K, V] { return &m.blocks[hash&uint64(len(m.blocks)-1)] }

func (m *Map[K, V]) shard(hash uint64) *shard[K, V] {
	shards := m.block(hash).shards
	return &shards[hash>>blockBits&uint64(len(shards)-1)]
}

// hash returns the hash of a key. It is never 0, which marks free slots.
func (m *Map[K, V]) hash(key K) uint64 {
	const used = 1 << 63
	return maphash.Comparable(m.seed, key) | used
}

// plain returns the entries as a Go map.
func (m Map[K, V]) plain() map[K]V { return maps.Collect(m.All()) }

// MarshalJSON encodes the entries as those of a Go map. It leaves it to the outer encoder to escape HTML.
func (m Map[K, V]) MarshalJSON() ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(m.plain())
	return text.Bytes(), err
}

// Redacted returns a copy whose values lack their secrets (package redact).
func (m Map[K, V]) Redacted() any { return Of(redact.Copy(m.plain())) }
