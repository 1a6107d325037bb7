package metrics

import (
	"crypto/tls"
	"sync/atomic"
	"time"
)

// Series counts the requests of one entrypoint, router or service. It is resolved when the configuration is
// compiled, so that nothing is looked up by name for a request. A nil Series counts nothing. Counting takes no
// lock; what has been counted may be read at any time.
type Series struct {
	seriesKey

	shards table[shard]
	secure table[atomic.Uint64]
	// set lists the series; gone is set when it is dropped, and next links dropped series that have counted since.
	set  *SeriesSet
	gone atomic.Bool
	next *Series
	// removed is when a removed owner's series was last seen to change, and counted its count then; zero while the
	// owner exists. Both are guarded by the lock of set.
	removed time.Time
	counted uint64
}

// observation is what one request adds to a series.
type observation struct {
	key uint64
	// combination is which one of the header labels' values; negative without header labels.
	combination int
	// seconds is how long it took, native the bucket of that.
	seconds        float64
	native         int
	ticks          uint64
	received, sent uint64
	tls            *tls.ConnectionState
}

// add counts a request.
func (s *Series) add(o *observation) {
	if s == nil {
		return
	}
	c := s.shards.find(o.key)
	if c == nil {
		c = s.shards.insert(o.key, newShard(s.set.bounds))
	}
	c.add(s.set.bounds, o)
	if o.tls != nil {
		s.secured(o.tls)
	}
	if s.gone.Load() { // Last, so that drop either finds the request counted or the series comes back.
		s.set.comeBack(s)
	}
}

// secured counts a request over TLS.
func (s *Series) secured(state *tls.ConnectionState) {
	key := uint64(state.Version)<<16 | uint64(state.CipherSuite)
	count := s.secure.find(key)
	if count == nil {
		count = s.secure.insert(key, new(atomic.Uint64))
	}
	count.Add(1)
}

// count returns how many requests have been counted.
func (s *Series) count() uint64 {
	total := uint64(0)
	s.shards.all(func(_ uint64, c *shard) { total += c.native.count() })
	return total
}

// shardKey returns the key of the shard that counts a request.
func shardKey(method, protocol, status int) uint64 {
	if status < 0 || status >= statusCount {
		status = 0
	}
	return uint64((method*protocolCount+protocol)*statusCount + status)
}

// keyStatus, keyMethod and keyProtocol undo shardKey.
func keyStatus(key uint64) int   { return int(key % statusCount) }
func keyProtocol(key uint64) int { return int(key / statusCount % protocolCount) }
func keyMethod(key uint64) int   { return int(key / statusCount / protocolCount) }
