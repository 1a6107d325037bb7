package webhook

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
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
	// maxWait is how long a review waits for its turn, waiters how many may be read or wait. The API server waits for 5 s
	// in the registration that is shipped.
	maxWait = 2 * time.Second
	waiters = 1000
	// arrival is how long a body may take to arrive. One of more than smallBody bytes needs one of largeBodies places from
	// then on until it has its turn, so that bodies which have no share of the memory yet stay small together.
	arrival     = 2 * time.Second
	smallBody   = 32 << 10
	largeBodies = 4
)

// limiter bounds the reviews that are answered at once, by number and by memory.
type limiter struct {
	turns   *semaphore.Weighted
	memory  *semaphore.Weighted
	large   *semaphore.Weighted
	waiting atomic.Int64
}

func newLimiter(concurrent int) *limiter {
	return &limiter{
		turns: semaphore.NewWeighted(int64(concurrent)), memory: semaphore.NewWeighted(memory),
		large: semaphore.NewWeighted(largeBodies),
	}
}

// admit reads the body of a review and waits for its turn. A sender that is slow holds nothing but a place among the
// waiters. It fails when too many wait, or for too long. The caller must call release.
func (l *limiter) admit(w http.ResponseWriter, r *http.Request) (body []byte, release func(), err error) {
	defer l.waiting.Add(-1)
	if l.waiting.Add(1) > waiters {
		return nil, nil, errOverload()
	}
	body, leave, err := l.read(w, r)
	defer leave()
	if err != nil {
		return nil, nil, err
	}
	if release, err = l.acquire(r.Context(), int64(len(body))); err != nil {
		return nil, nil, err
	}
	return body, release, nil
}

// read reads a body. The caller must call leave, even after an error.
func (l *limiter) read(w http.ResponseWriter, r *http.Request) (body []byte, leave func(), err error) {
	leave = func() {}
	until := time.Now().Add(arrival)
	control := http.NewResponseController(w)
	if err := control.SetReadDeadline(until); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, leave, err
	}
	from := http.MaxBytesReader(w, r.Body, maxBody)
	// The buffer need not grow for a body of the announced size.
	small := bytes.NewBuffer(make([]byte, 0, min(max(r.ContentLength, 0), smallBody)+bytes.MinRead))
	_, err = small.ReadFrom(io.LimitReader(from, smallBody+1))
	if body = small.Bytes(); err == nil && len(body) > smallBody {
		ctx, cancel := context.WithDeadline(r.Context(), until)
		defer cancel()
		if l.large.Acquire(ctx, 1) != nil {
			return nil, leave, errOverload()
		}
		leave = func() { l.large.Release(1) }
		buffer := bytes.NewBuffer(body)
		_, err = buffer.ReadFrom(from)
		body = buffer.Bytes()
	}
	if err != nil {
		return nil, leave, readError(err)
	}
	// The server watches the connection while the review is answered; the deadline must not end that.
	if err := control.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, leave, err
	}
	return body, leave, nil
}

// readError returns the answer to a body that cannot be read.
func readError(err error) error {
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return errTooLarge()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &httpError{http.StatusRequestTimeout, "the body did not arrive within " + arrival.String()}
	}
	return badRequest("the body cannot be read: %v", err)
}

// acquire waits for the turn of a review with a body of that size, in bytes. The caller must call release.
func (l *limiter) acquire(ctx context.Context, size int64) (release func(), err error) {
	needs := max(size*memoryFactor, leastMemory)
	release = func() {
		l.turns.Release(1)
		l.memory.Release(needs)
	}
	if l.memory.TryAcquire(needs) {
		if l.turns.TryAcquire(1) {
			return release, nil
		}
		l.memory.Release(needs)
	}
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	if l.memory.Acquire(ctx, needs) != nil {
		return nil, errOverload()
	}
	if l.turns.Acquire(ctx, 1) != nil {
		l.memory.Release(needs)
		return nil, errOverload()
	}
	return release, nil
}

func errOverload() error {
	return &httpError{http.StatusTooManyRequests, "too many reviews at once"}
}
