package loadbalancer

import (
	"math"
	"math/rand/v2"
	"time"
)

const (
	// longSince is since when those serve that need no slow start.
	longSince = time.Duration(math.MinInt64 / 2)
	// coldest is the share that a member in its slow start gets at least, of the one that it will have.
	coldest = 0.1
)

// warms reports whether the member is in its slow start.
func (p *Pool) warms(m *Member, now time.Duration) bool {
	return p.spec.SlowStart > 0 && now-time.Duration(m.since.Load()) < p.spec.SlowStart
}

// warm draws whether a member takes a request that its strategy gives it: the more likely the longer it serves.
func (s *Snapshot) warm(m *Member, r *Request) bool {
	elapsed := r.Now - time.Duration(m.since.Load())
	return elapsed >= s.slowStart || rand.Float64() < max(coldest, float64(elapsed)/float64(s.slowStart))
}
