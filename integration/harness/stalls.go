package harness

import (
	"sync"
	"testing"
	"time"
)

// Stalls measures how long the machine keeps a goroutine of this process that is due from running, until stop is
// called or the test ends. stop returns the longest time, 0 or more, and the same again when it is called again. A
// test adds a multiple of it to a time limit; unlike an answer of the program under test, it does not grow with a
// fault of that.
func Stalls(t testing.TB) (stop func() time.Duration) {
	t.Helper()
	const every = 5 * time.Millisecond
	done, longest := make(chan struct{}), make(chan time.Duration, 1)
	go func() {
		worst, due := time.Duration(0), time.Now().Add(every)
		timer := time.NewTimer(every)
		defer timer.Stop()
		for {
			select {
			case <-timer.C:
				now := time.Now()
				worst, due = max(worst, now.Sub(due)), now.Add(every)
				timer.Reset(every)
			case <-done:
				longest <- max(worst, time.Since(due))
				return
			}
		}
	}()
	stop = sync.OnceValue(func() time.Duration { close(done); return <-longest })
	t.Cleanup(func() { stop() })
	return stop
}
