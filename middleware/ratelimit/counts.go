package ratelimit

import (
	"maps"
	"sync/atomic"
)

const stripes = 16

// counts are what has happened. Requests of different sources mostly count in different places.
type counts [stripes]struct {
	refused, delayed, evicted, local atomic.Uint64
	_                                [32]byte
}

// Counts returns what has been counted over all owners: requests that were refused or delayed, sources that were
// evicted because there were too many although their buckets were not full, and with redis the requests on which this
// process decided alone (local), beside what the limiter in Redis has counted.
func (m *RateLimit) Counts() map[string]uint64 {
	var refused, delayed, evicted, local uint64
	for i := range m.counts {
		stripe := &m.counts[i]
		refused += stripe.refused.Load()
		delayed += stripe.delayed.Load()
		evicted += stripe.evicted.Load()
		local += stripe.local.Load()
	}
	all := map[string]uint64{"refused": refused, "delayed": delayed, "evicted": evicted}
	if m.remote != nil {
		all["local"] = local
		maps.Copy(all, m.remote.Counts())
	}
	return all
}
