package metrics

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// readerIdle is how long the series of removed owners are kept for a consumer that has stopped reading.
const readerIdle = 5 * time.Minute

// reader tracks which last counts of series a consumer has seen, so that series whose owners are gone are shown
// once more.
type reader struct {
	set *SeriesSet

	mu sync.Mutex
	// last is when metrics were read; pending has the series that are gone with their counts before they were
	// read, and seen those that reached the consumer.
	last          time.Time
	pending, seen map[*Series]uint64
}

func newReader(set *SeriesSet) *reader {
	r := &reader{set: set, seen: map[*Series]uint64{}}
	set.readers = append(set.readers, r)
	return r
}

// read returns the sorted series of each kind, without removed ones whose last counts the consumer has read.
func (r *reader) read(kinds []TrafficKind) [][]*Series {
	gone := r.set.dead()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending = gone
	all := make([][]*Series, 0, len(kinds))
	for _, kind := range kinds {
		all = append(all, slices.DeleteFunc(r.set.list(kind, nil), func(s *Series) bool {
			count, isGone := gone[s]
			seen, before := r.seen[s]
			return isGone && before && seen == count
		}))
	}
	return all
}

// confirm notes that what was read last has reached the consumer, and drops the series that every consumer has
// read for the last time.
func (r *reader) confirm() {
	r.mu.Lock()
	r.seen, r.last = r.pending, time.Now()
	r.mu.Unlock()
	r.set.prune()
}

// keepUnseen removes the series from gone whose last counts this consumer has not seen. An idle consumer has none.
func (r *reader) keepUnseen(gone map[*Series]uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.last) >= readerIdle {
		return
	}
	maps.DeleteFunc(gone, func(s *Series, count uint64) bool {
		seen, before := r.seen[s]
		return !before || seen != count
	})
}

// forget removes dropped series.
func (r *reader) forget(dropped map[*Series]uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// seen may be the map of another goroutine's read, so it is replaced.
	r.seen = maps.Clone(r.seen)
	for s := range dropped {
		delete(r.seen, s)
	}
}
