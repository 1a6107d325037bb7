package basicauth

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"
)

const (
	// maxWaiting is how many requests wait for their turn at most, and patience how long each of them.
	maxWaiting = 256
	patience   = 5 * time.Second
)

// Turns bound how many hashes of passwords are computed at a time: on half of the processors, so that the others are there for requests
// that need none. Who has no turn waits for one, 5 seconds at most and beside no more than 255 others. It is safe for concurrent use.
type Turns struct {
	taken   chan struct{}
	waiting atomic.Int64
}

// NewTurns returns turns that nobody has taken.
func NewTurns() *Turns {
	return &Turns{taken: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))}
}

// take waits for a turn, which is given back with give. It is not ok, and denied says why, when the turn did not come in time (busy) or
// when ctx ended before (left).
func (t *Turns) take(ctx context.Context) (denied finding, ok bool) {
	select {
	case t.taken <- struct{}{}:
		return 0, true
	default:
	}
	defer t.waiting.Add(-1)
	if t.waiting.Add(1) > maxWaiting {
		return busy, false
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case t.taken <- struct{}{}:
		return 0, true
	case <-timer.C:
		return busy, false
	case <-ctx.Done():
		return left, false
	}
}

func (t *Turns) give() { <-t.taken }
