package basicauth

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"
)

const (
	// maxWaiting is how many requests wait at most, and waitTimeout how long each of them.
	maxWaiting  = 256
	waitTimeout = 5 * time.Second
)

// HashSemaphore bounds how many password hashes are computed at a time, to half of the processors, so that the others
// are free for requests that need none. Further requests wait, for 5 seconds at most and beside no more than 255
// others. It is safe for concurrent use.
type HashSemaphore struct {
	slots   chan struct{}
	waiting atomic.Int64
}

// NewHashSemaphore returns a free semaphore.
func NewHashSemaphore() *HashSemaphore {
	return &HashSemaphore{slots: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))}
}

// acquire waits until another hash may be computed; release ends it. When it is not ok, denied is busy after
// waitTimeout, and canceled when ctx ended before.
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
