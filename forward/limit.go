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

	// began is when the try did.
	began time.Time

	mutex         sync.Mutex
	stopped, over bool
}

// limited returns the request with a context that ends with the time for the try.
func (x *exchange) limited(out *http.Request) *http.Request {
	l := &limit{time: x.trial.policy.PerTry, source: x.source, began: time.Now()}
	ctx, cancel := context.WithCancelCause(out.Context())
	l.cancel = cancel
	if l.source != nil {
		l.source.watch()
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
	if left := l.left(); left > 0 {
		l.timer.Reset(left)
		return
	}
	l.over = true
	l.cancel(errTryTime)
}

// left returns what the endpoint has left of the time, which begins anew whenever something has come from the client.
func (l *limit) left() time.Duration {
	since := l.began
	if l.source != nil {
		_, moved, more := l.source.progress()
		if more && l.source.reading.Load() {
			return l.time
		}
		if moved.After(since) {
			since = moved
		}
	}
	return l.time - time.Since(since)
}

// stop takes the limit away, and reports whether it was kept.
func (l *limit) stop() bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.stopped = true
	l.timer.Stop()
	return !l.over
}
