package webhook

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// maxBody is the size of the largest review in bytes: the API server accepts objects of 3 MiB, which a review may
	// hold twice.
	maxBody = 7 << 20
	// memory is how much all reviews may need at once, in bytes. A review needs about memoryFactor times its size, and
	// leastMemory at least.
	memory       = 192 << 20
	memoryFactor = 8
	leastMemory  = 256 << 10
	// maxWait is how long a review waits for its turn, waiters how many may wait. The API server waits for 5 s in the
	// registration that is shipped.
	maxWait = 2 * time.Second
	waiters = 1000
)

// limiter bounds the reviews that are answered at once, by number and by memory.
type limiter struct {
	turns   *semaphore.Weighted
	memory  *semaphore.Weighted
	waiting atomic.Int64
}

func newLimiter(concurrent int) *limiter {
	return &limiter{turns: semaphore.NewWeighted(int64(concurrent)), memory: semaphore.NewWeighted(memory)}
}

// acquire waits for the turn of a review with a body of that size; -1 is an unknown size. It fails when too many wait,
// or for too long. The caller must call release.
func (l *limiter) acquire(ctx context.Context, size int64) (release func(), err error) {
	if size < 0 {
		size = maxBody
	}
	needs := max(size*memoryFactor, leastMemory)
	if l.waiting.Add(1) > waiters {
		l.waiting.Add(-1)
		return nil, errOverload()
	}
	defer l.waiting.Add(-1)
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	if l.memory.Acquire(ctx, needs) != nil {
		return nil, errOverload()
	}
	if l.turns.Acquire(ctx, 1) != nil {
		l.memory.Release(needs)
		return nil, errOverload()
	}
	return func() {
		l.turns.Release(1)
		l.memory.Release(needs)
	}, nil
}

func errOverload() error {
	return &httpError{http.StatusTooManyRequests, "too many reviews at once"}
}
