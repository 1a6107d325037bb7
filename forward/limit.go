package forward

import (
	"context"
	"math"
	"net/http"
	"sync"
	"time"
)

// tryTimeError is the end of a try whose endpoint took longer than a try may.
type tryTimeError struct{}

var errTryTime error = tryTimeError{}

// Error says what is over.
func (tryTimeError) Error() string { return "the time for a try is over" }

// Timeout returns true.
func (tryTimeError) Timeout() bool { return true }

// Temporary returns true.
func (tryTimeError) Temporary() bool { return true }

// limit bounds the time of a try until the head of its response is there. The time that the client takes for its body does not count.
type limit struct {
	time   time.Duration
	source *source
	cancel context.CancelCauseFunc
	timer  *time.Timer

	mutex sync.Mutex
	// read is how much of the body had been read when the time began.
	read          int64
	stopped, over bool
}

// limited returns the request with a context that ends with the time for the try.
func (x *exchange) limited(out *http.Request) *http.Request {
	l := &limit{time: x.trial.policy.PerTry, source: x.source}
	ctx, cancel := context.WithCancelCause(out.Context())
	l.cancel = cancel
	if l.source != nil {
		l.read, _ = l.source.progress()
	}
	// The timer must be in place before it can fire.
	l.timer = time.AfterFunc(math.MaxInt64, l.expire)
	l.timer.Reset(l.time)
	x.limit = l
	return out.WithContext(ctx)
}

// expire ends the try, unless the client was slow.
func (l *limit) expire() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.stopped {
		return
	}
	if l.source != nil {
		read, more := l.source.progress()
		if more && (read != l.read || l.source.reading.Load()) {
			l.read = read
			l.timer.Reset(l.time)
			return
		}
	}
	l.over = true
	l.cancel(errTryTime)
}

// stop takes the limit away, and reports whether it was kept.
func (l *limit) stop() bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.stopped = true
	l.timer.Stop()
	return !l.over
}
