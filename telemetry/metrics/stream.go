package metrics

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"
)

// Stream is what is counted of a TCP connection or a UDP session that has ended.
type Stream struct {
	// Datagrams is set for a session of UDP.
	Datagrams bool
	// Router and Service are qualified names; Service is empty where it did not get so far.
	Router, Service string
	// End says why it ended. It is one of a few values, none of which a client chooses.
	End string
	// Undialled counts the endpoints that could not be connected to.
	Undialled int
	// BytesReceived and DatagramsReceived came from the client, BytesSent and DatagramsSent went to it.
	BytesReceived, BytesSent, DatagramsReceived, DatagramsSent int64
	// Duration is how long it was open.
	Duration time.Duration
}

// streamBuckets are the upper bounds of the buckets of durations of connections, in seconds: up to a day.
func streamBuckets() []float64 { return []float64{0.1, 1, 10, 60, 600, 3600, 86_400} }

// streamKey is the key of a streamSeries.
type streamKey struct {
	datagrams                   bool
	entrypoint, router, service string
}

// streamSeries counts the connections of a router to a service. Its lock is held for a few additions at the end of
// each.
type streamSeries struct {
	streamKey

	mu sync.Mutex
	// gone is set when the series is shown no more, and counts nothing.
	gone bool
	streamCounts
	// removed is when the series of a removed router was last seen to change, and counted its count then. Both are
	// guarded by the lock of the set.
	removed time.Time
	counted uint64
}

// streamCounts are the counts of a streamSeries.
type streamCounts struct {
	ends map[string]uint64
	// buckets counts by streamBuckets, what is longer than the last one included.
	buckets                          []uint64
	seconds                          float64
	undialled                        uint64
	bytesReceived, bytesSent         uint64
	datagramsReceived, datagramsSent uint64
}

// add counts a stream, and reports false for a series that is gone.
func (s *streamSeries) add(stream *Stream) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return false
	}
	s.ends[stream.End]++
	seconds := max(stream.Duration, 0).Seconds()
	s.seconds += seconds
	at, _ := slices.BinarySearch(streamBuckets(), seconds)
	s.buckets[at]++
	s.undialled += uint64(max(stream.Undialled, 0))
	s.bytesReceived += uint64(max(stream.BytesReceived, 0))
	s.bytesSent += uint64(max(stream.BytesSent, 0))
	s.datagramsReceived += uint64(max(stream.DatagramsReceived, 0))
	s.datagramsSent += uint64(max(stream.DatagramsSent, 0))
	return true
}

// read returns a copy of the counts.
func (s *streamSeries) read() streamCounts {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := s.streamCounts
	counts.ends, counts.buckets = maps.Clone(s.ends), slices.Clone(s.buckets)
	return counts
}

// total returns how many streams were counted.
func (s *streamCounts) total() (total uint64) {
	for _, count := range s.buckets {
		total += count
	}
	return total
}

// Streams counts TCP connections and UDP sessions by entrypoint, router and service. The series of removed routers and
// services are dropped like those of requests.
type Streams struct {
	series sync.Map // of streamKey
	// mu is taken at a scrape.
	mu   sync.Mutex
	live func() (tcp, udp StreamNames)
	// liveEntrypoints returns the names of the entrypoints that exist; nil keeps all.
	liveEntrypoints func() map[string]bool
}

// StreamNames are the names of the routers and services of a protocol that exist.
type StreamNames struct{ Routers, Services map[string]bool }

// ServeStreamsOnly drops the series of removed TCP and UDP routers and services 5 minutes after their last change, or
// earlier if there are more than 10,000. live returns the names of those that exist and is called at each scrape.
func (s *Streams) ServeStreamsOnly(live func() (tcp, udp StreamNames)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live = live
}

// count counts a stream of an entrypoint. It takes no lock that others share but that of one router and service.
func (s *Streams) count(entrypoint string, stream *Stream) {
	key := streamKey{stream.Datagrams, entrypoint, stream.Router, stream.Service}
	for {
		known, found := s.series.Load(key)
		if !found {
			known, _ = s.series.LoadOrStore(key, &streamSeries{streamKey: key, streamCounts: streamCounts{
				ends: map[string]uint64{}, buckets: make([]uint64, len(streamBuckets())+1),
			}})
		}
		if known.(*streamSeries).add(stream) {
			return
		}
		s.series.CompareAndDelete(key, known)
	}
}

// list returns the series in the order of their keys, without those that were removed long ago.
func (s *Streams) list() []*streamSeries {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*streamSeries
	for _, series := range s.series.Range {
		all = append(all, series.(*streamSeries))
	}
	if s.live != nil {
		all = s.prune(all, time.Now())
	}
	slices.SortFunc(all, func(a, b *streamSeries) int {
		return cmp.Or(cmp.Compare(a.entrypoint, b.entrypoint), cmp.Compare(a.router, b.router),
			cmp.Compare(a.service, b.service))
	})
	return all
}

// prune drops the series that were removed long ago, and the oldest ones beyond the limit, and returns the others. The
// caller holds the lock.
func (s *Streams) prune(all []*streamSeries, now time.Time) []*streamSeries {
	tcp, udp := s.live()
	var entrypoints map[string]bool
	if s.liveEntrypoints != nil {
		entrypoints = s.liveEntrypoints()
	}
	var kept, removed []*streamSeries
	for _, series := range all {
		names := tcp
		if series.datagrams {
			names = udp
		}
		if names.Routers[series.router] && (series.service == "" || names.Services[series.service]) &&
			(entrypoints == nil || entrypoints[series.entrypoint]) {
			series.removed = time.Time{}
			kept = append(kept, series)
			continue
		}
		counts := series.read()
		if count := counts.total(); series.removed.IsZero() || series.counted != count {
			series.removed, series.counted = now, count
		}
		removed = append(removed, series)
	}
	slices.SortFunc(removed, func(a, b *streamSeries) int { return a.removed.Compare(b.removed) })
	for i, series := range removed {
		if now.Sub(series.removed) < removedFor && len(removed)-i <= removedLimit || !series.drop() {
			kept = append(kept, series)
			continue
		}
		s.series.CompareAndDelete(series.streamKey, any(series))
	}
	return kept
}

// drop ends the series, unless it has counted since it was marked as removed.
func (s *streamSeries) drop() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = s.total() == s.counted
	return s.gone
}
