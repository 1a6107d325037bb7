package loadbalancer

import (
	"math"
	"math/rand/v2"
	"time"
)

const (
	// longSince is the start instant of members without slow start.
	longSince = time.Duration(math.MinInt64 / 2)
	// coldest is the least fraction of its share that a member receives in its slow start.
	coldest = 0.1
)

// warms reports whether the member is in its slow start.
func (p *Pool) warms(m *Member, now time.Duration) bool {
	return p.policies.SlowStart > 0 && now-time.Duration(m.since.Load()) < p.policies.SlowStart
}

// warm decides at random whether a member accepts a request in its slow start; the probability grows with the
// elapsed time.
func (s *Snapshot) warm(m *Member, r *Request) bool {
	elapsed := r.Now - time.Duration(m.since.Load())
	return elapsed >= s.policies.SlowStart || rand.Float64() < max(coldest, float64(elapsed)/float64(s.policies.SlowStart))
}
