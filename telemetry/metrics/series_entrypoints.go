package metrics

import (
	"time"
	"weak"
)

// ServeEntrypointsOnly drops the series of removed entrypoints, which are listeners of providers and their addresses,
// 5 minutes after their last change and with no connection open. live returns the names of all that exist and is called
// at each scrape.
func (set *SeriesSet) ServeEntrypointsOnly(live func() map[string]bool) {
	set.mu.Lock()
	defer set.mu.Unlock()
	set.liveEntrypoints = live
	set.streams.mu.Lock()
	defer set.streams.mu.Unlock()
	set.streams.liveEntrypoints = live
}

// ofSeries returns the entrypoint of a series, without listing it again where it has been dropped since.
func (set *SeriesSet) ofSeries(s *Series) *Entrypoint {
	set.mu.Lock()
	defer set.mu.Unlock()
	if entrypoint := set.entrypoints[s.name]; entrypoint != nil {
		return entrypoint
	}
	return set.goneEntrypoints[s.name].Value() // The series is a part of it and keeps it.
}

// relistEntrypoint lists an entrypoint. The caller holds the lock.
func (set *SeriesSet) relistEntrypoint(entrypoint *Entrypoint) {
	entrypoint.series.gone.Store(false)
	entrypoint.series.removed = time.Time{}
	set.entrypoints[entrypoint.series.name] = entrypoint
	delete(set.goneEntrypoints, entrypoint.series.name)
}

// pruneEntrypoints drops the entrypoints that were removed long ago; nil names keep all. The caller holds the lock.
func (set *SeriesSet) pruneEntrypoints(now time.Time, names map[string]bool) {
	if names == nil {
		return
	}
	for name, entrypoint := range set.entrypoints {
		s := &entrypoint.series
		if names[name] || entrypoint.openConnections() > 0 {
			s.removed = time.Time{}
			continue
		}
		if count := s.count(); s.removed.IsZero() || s.counted != count {
			s.removed, s.counted = now, count
		}
		if now.Sub(s.removed) < removedFor {
			continue
		}
		s.gone.Store(true)
		if s.count() != s.counted { // As drop does.
			s.gone.Store(false)
			continue
		}
		delete(set.entrypoints, name)
		set.goneEntrypoints[name] = weak.Make(entrypoint)
	}
	for name, entrypoint := range set.goneEntrypoints {
		if entrypoint.Value() == nil {
			delete(set.goneEntrypoints, name)
		}
	}
}
