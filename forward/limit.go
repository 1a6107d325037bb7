package forward

import (
	"context"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/httpio/replay"
)

// tryTimeError is the error of an attempt that exceeded its time limit.
type tryTimeError struct{}

var errTryTime error = tryTimeError{}

// Error returns the message.
func (tryTimeError) Error() string { return "the time for a try is over" }

// Timeout returns true.
func (tryTimeError) Timeout() bool { return true }

// Temporary returns true.
func (tryTimeError) Temporary() bool { return true }

// limit bounds the time of an attempt until the head of its response. The time that the client takes for its
// body does not count.
type limit struct {
	time       time.Duration
	replayBody *replay.Body
	cancel     context.CancelCauseFunc
	timer      *time.Timer

	// began is the start of the attempt.
	began time.Time

	mutex         sync.Mutex
	stopped, over bool
}

// limited returns the request with a context that ends with the attempt's time limit.
func (a *attempt) limited(out *http.Request) *http.Request {
	l := &limit{time: a.state.policy.PerTry, replayBody: a.replayBody, began: time.Now()}
	ctx, cancel := context.WithCancelCause(out.Context())
	l.cancel = cancel
	if l.replayBody != nil {
		l.replayBody.Time()
	}
	// The timer must be in place before it can fire.
	l.timer = time.AfterFunc(math.MaxInt64, l.expire)
	l.timer.Reset(l.time)
	a.limit = l
	return out.WithContext(ctx)
}

// expire ends the attempt, unless the client was slow.
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

// left returns the endpoint's remaining time, which restarts whenever the client has sent something.
func (l *limit) left() time.Duration {
	since := l.began
	if l.replayBody != nil {
		_, moved, more := l.replayBody.Progress()
		if more && l.replayBody.Reading() {
			return l.time
		}
		if moved.After(since) {
			since = moved
		}
	}
	return l.time - time.Since(since)
}

// stop removes the limit, and reports whether it was not exceeded.
func (l *limit) stop() bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.stopped = true
	l.timer.Stop()
	return !l.over
}
