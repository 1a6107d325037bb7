package basicauth

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"
)

const (
	// maxWaiting is the maximum number of waiting requests, and waitTimeout the maximum time.
	maxWaiting  = 256
	waitTimeout = 5 * time.Second
)

// HashSemaphore limits concurrent hash computations to half of the processors, so that the others are free for other
// requests. Further requests wait, for 5 seconds at most and at most 256 at a time. It is safe for concurrent use.
type HashSemaphore struct {
	slots   chan struct{}
	waiting atomic.Int64
}

// NewHashSemaphore returns a new semaphore.
func NewHashSemaphore() *HashSemaphore {
	return &HashSemaphore{slots: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))}
}

// acquire waits until a hash may be computed; release ends it. If not ok, denied is busy after waitTimeout, or canceled
// if ctx ended.
func (s *HashSemaphore) acquire(ctx context.Context) (denied result, ok bool) {
	select {
	case s.slots <- struct{}{}:
		return 0, true
	default:
	}
	defer s.waiting.Add(-1)
	if s.waiting.Add(1) > maxWaiting {
		return busy, false
	}
	timer := time.NewTimer(waitTimeout)
	defer timer.Stop()
	select {
	case s.slots <- struct{}{}:
		return 0, true
	case <-timer.C:
		return busy, false
	case <-ctx.Done():
		return canceled, false
	}
}

func (s *HashSemaphore) release() { <-s.slots }
