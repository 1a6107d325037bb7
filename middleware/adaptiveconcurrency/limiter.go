package adaptiveconcurrency

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/httpio/adaptivelifo"
	"github.com/sluiceproxy/sluice/telemetry"
)

const (
	// windowTime and windowSamples are the least time and number of responses between two changes of the limit. The time
	// also is at least the latency, so that a window shows the effect of the change before.
	windowTime    = 100 * time.Millisecond
	windowSamples = 16
	// leastQueue is how many requests may wait if the limit is lower; otherwise as many as the limit.
	leastQueue = 100
)

// limiter admits requests up to a limit. The path of a request has no lock; the request that finds a window to be over
// changes the limit.
type limiter struct {
	settings *settings
	origin   time.Time
	limit    atomic.Int64
	inFlight atomic.Int64
	queue    adaptivelifo.Queue
	samples  atomic.Pointer[samples]
	// end is when the window may be over, since origin. In it, busy is set when a request found the limit reached, and
	// failed counts answers that say that the service is overloaded.
	end    atomic.Int64
	busy   atomic.Bool
	failed atomic.Int64
	// short and long are the latencies of the last change, for the status.
	short, long atomic.Int64

	// closing guards what follows.
	closing  atomic.Bool
	began    time.Duration
	gradient gradient
}

// errLimit is the error of a request that does not wait.
var errLimit = errors.New("the limit of requests in progress is reached")

func newLimiter(s *settings) *limiter {
	l := &limiter{settings: s, origin: time.Now(), gradient: gradient{settings: s, limit: float64(s.least)}}
	l.limit.Store(s.least)
	l.end.Store(int64(windowTime))
	return l
}

// now returns the time since origin.
func (l *limiter) now() time.Duration { return time.Since(l.origin) }

// take counts a request in, unless the limit is reached.
func (l *limiter) take() bool {
	for {
		n := l.inFlight.Load()
		if n >= l.limit.Load() {
			return false
		}
		if l.inFlight.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// acquire counts a request in, which may wait for that. Requests of the class critical do not, and may exceed the
// limit. The error is errLimit, one of adaptivelifo, or the context's.
func (l *limiter) acquire(ctx context.Context) (waited bool, err error) {
	if l.queue.Len() == 0 && l.take() {
		return false, nil
	}
	if !l.busy.Load() {
		l.busy.Store(true)
	}
	if telemetry.RecordFrom(ctx).Critical {
		l.inFlight.Add(1)
		return false, nil
	}
	if l.settings.timeout == 0 {
		return false, errLimit
	}
	options := adaptivelifo.Options{Limit: int(max(l.limit.Load(), leastQueue)), Longest: l.settings.timeout}
	return true, l.queue.Wait(ctx, options, l.take)
}

// release counts a request out.
func (l *limiter) release() {
	l.inFlight.Add(-1)
	l.queue.Wake()
}

// sample notes the latency of a response.
func (l *limiter) sample(latency time.Duration) { l.histograms().answered.add(latency) }

// unanswered notes how long a request was without a response until its client left or its time was over.
func (l *limiter) unanswered(waited time.Duration) { l.histograms().unanswered.add(waited) }

func (l *limiter) histograms() *samples {
	if s := l.samples.Load(); s != nil {
		return s
	}
	l.samples.CompareAndSwap(nil, new(samples))
	return l.samples.Load()
}

// check changes the limit if the window is over.
func (l *limiter) check(now time.Duration) {
	if int64(now) < l.end.Load() || !l.closing.CompareAndSwap(false, true) {
		return
	}
	defer l.closing.Store(false)
	s := l.histograms()
	tolerated := 0
	if long := l.gradient.long; long > 0 {
		tolerated = bucketOf(uint64(l.settings.tolerance*long/float64(time.Microsecond))) + 1
	}
	if int64(now) < l.end.Load() || int64(s.count(tolerated))+l.failed.Load() < windowSamples {
		return
	}
	w := window{elapsed: now - l.began, reached: l.busy.Swap(false), failed: int(l.failed.Swap(0))}
	w.responses, w.median, w.bound = s.drain(tolerated)
	w.used = w.reached || 2*l.inFlight.Load() > l.limit.Load()
	grown := l.gradient.change(w)
	l.limit.Store(int64(l.gradient.limit))
	if w.responses > 0 {
		l.short.Store(int64(w.median))
	}
	l.long.Store(int64(l.gradient.long))
	l.began = now
	l.end.Store(int64(now + max(windowTime, w.median)))
	if grown {
		l.queue.Wake()
	}
}
