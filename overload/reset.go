package overload

import (
	"sync/atomic"
	"time"
)

// resetPause is the time between two calls of the Resetter: what it frees shows with a collection of garbage, which
// takes a moment to come.
const resetPause = time.Second

// Resetter ends the requests that hold the most memory.
type Resetter interface {
	// EndLargest ends the largest requests, and returns how many and what they held in bytes. The Ladder calls it from one
	// goroutine. It must not wait.
	EndLargest() (requests int, bytes int64)
}

// reset is the state of ResetLargest.
type reset struct {
	resetter Resetter
	requests atomic.Uint64

	// called is when the Resetter was called, logged when the last line was written, and unlogged and bytes what was ended
	// since. They are Run's.
	called, logged time.Time
	unlogged       int
	bytes          int64
}

// resets reports whether requests are to be ended: the last sample counts, not the pressure, which falls slowly. The
// mutex is held.
func (m *Ladder) resets() bool {
	if m.reset.resetter == nil || !m.actions[ResetLargest].active {
		return false
	}
	for i := range m.monitors {
		if one := &m.monitors[i]; one.leadsTo(ResetLargest) && one.last >= m.steps[ResetLargest].begins {
			return true
		}
	}
	return false
}

// resetLargest ends requests, unless that was done a moment ago.
func (m *Ladder) resetLargest(now time.Time) {
	r := &m.reset
	if !r.called.IsZero() && now.Sub(r.called) < resetPause {
		return
	}
	requests, bytes := r.resetter.EndLargest()
	if requests == 0 {
		return
	}
	r.called = now
	r.requests.Add(uint64(requests))
	r.unlogged += requests
	r.bytes += bytes
	if !r.logged.IsZero() && now.Sub(r.logged) < repeated {
		return
	}
	m.logger.Warn("overload: requests that hold the most memory were ended", "requests", r.unlogged, "bytes", r.bytes)
	r.logged, r.unlogged, r.bytes = now, 0, 0
}
