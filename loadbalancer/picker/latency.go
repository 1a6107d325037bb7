package picker

import (
	"sync/atomic"
	"time"
)

// Latency is how fast one candidate answers, as the strategies see it. The zero value is ready and knows nothing; any
// number of goroutines may use it. It takes no lock and allocates nothing.
type Latency struct {
	peak atomic.Uint64
	mean atomic.Uint64
}

// Observe takes in how long the head of a response took at an instant. A failed answer is scored as slow, however fast it
// came.
func (l *Latency) Observe(sample time.Duration, failed bool, now time.Duration) {
	l.observePeak(sample, failed, now)
}

func (l *Latency) observePeak(sample time.Duration, _ bool, _ time.Duration) {
	l.peak.Store(uint64(max(sample, 1))) //nolint:gosec // positive
}
