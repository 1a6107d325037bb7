package provider

import (
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

// tombstoneAge is how long the version of a deleted key is kept, so that an older set that arrives late does not
// restore it.
const tombstoneAge = time.Minute

// endpointSets keeps the version of every key, and the sets that have not been taken.
type endpointSets struct {
	runs    atomic.Uint64
	version uint64
	known   map[string]knownSet
	// pending maps a key to its index in order, so that a newer set replaces the pending one.
	pending map[string]int
	order   []dynamic.EndpointSet
	// deleted holds the keys whose version is to be dropped, oldest first.
	deleted []tombstone
}

// knownSet is the last version of a key, and the run of the provider that sent it.
type knownSet struct {
	run     uint64
	version uint64
	deleted bool
}

type tombstone struct {
	key  string
	when time.Time
}

// newRun returns the number of a new run. Versions are comparable within one run only.
func (e *endpointSets) newRun() uint64 { return e.runs.Add(1) }

// put adds a set, unless the same run has already sent this or a later version of the key. Sets with version 0 are
// always added: their source does not count.
func (e *endpointSets) put(set dynamic.EndpointSet, run uint64, now time.Time) {
	last, known := e.known[set.Key]
	if known && last.run == run && set.Version != 0 && set.Version <= last.version {
		return
	}
	e.known[set.Key] = knownSet{run: run, version: set.Version, deleted: set.Deleted}
	if set.Deleted {
		e.deleted = append(e.deleted, tombstone{key: set.Key, when: now})
	}
	e.forget(now)
	e.version++
	set.Version = e.version
	if place, ok := e.pending[set.Key]; ok {
		if before := e.order[place].Noticed; !before.IsZero() {
			set.Noticed = before
		}
		e.order[place] = set
		return
	}
	e.pending[set.Key] = len(e.order)
	e.order = append(e.order, set)
}

// forget drops the versions of keys deleted before tombstoneAge.
func (e *endpointSets) forget(now time.Time) {
	for len(e.deleted) > 0 && now.Sub(e.deleted[0].when) > tombstoneAge {
		if key := e.deleted[0].key; e.known[key].deleted {
			delete(e.known, key)
		}
		e.deleted = e.deleted[1:]
	}
}

// take returns the sets that have been put since the last call.
func (e *endpointSets) take() []dynamic.EndpointSet {
	sets := e.order
	e.order = nil
	if len(e.pending) > 0 {
		e.pending = map[string]int{} // A cleared map costs its largest size to clear again.
	}
	return sets
}
