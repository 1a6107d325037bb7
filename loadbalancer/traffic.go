package loadbalancer

import (
	"sync/atomic"
	"time"
)

// Traffic is what a member has counted since it joined its pool. The difference of two values gives rates.
type Traffic struct {
	// Requests counts attempts that ended, without those that the client gave up. Errors counts those of them that got a
	// 5xx status, or no complete response.
	Requests, Errors uint64
	// Timed counts requests that were answered at the first attempt, and Duration is the sum of their durations, with
	// both bodies.
	Timed    uint64
	Duration time.Duration
}

// memberTraffic holds the counters of Traffic.
type memberTraffic struct{ requests, errors, timed, nanoseconds atomic.Uint64 }

// Count counts an ended attempt. It takes no lock and allocates nothing.
func (m *Member) Count(result *Result) {
	if result.Outcome == Abandoned {
		return
	}
	m.traffic.requests.Add(1)
	if result.Outcome != Answered || result.Status >= 500 {
		m.traffic.errors.Add(1)
	}
}

// Took adds the duration of a request that was answered at the first attempt.
func (m *Member) Took(duration time.Duration) {
	m.traffic.timed.Add(1)
	m.traffic.nanoseconds.Add(uint64(max(duration, 0)))
}

// Traffic returns the counts of the member.
func (m *Member) Traffic() Traffic {
	t := &m.traffic
	return Traffic{
		Requests: t.requests.Load(), Errors: t.errors.Load(), Timed: t.timed.Load(),
		Duration: time.Duration(t.nanoseconds.Load()), //nolint:gosec // A sum of durations: it overflows after centuries.
	}
}
