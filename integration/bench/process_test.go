package bench

import (
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// still is how long a process must have used next to no CPU to be idle. It is longer than a burst of changes is held,
// and than the quiet window of verdicts.
const still = 700 * time.Millisecond

// noise is the CPU time that a process may use in that time and be idle: the runtime looks after its memory now and
// then.
const noise = 2 * time.Millisecond

// idle waits until a process uses no CPU any more, and returns what it has used.
func idle(tb testing.TB, pid int) time.Duration {
	tb.Helper()
	ticker := time.NewTicker(still / 20)
	defer ticker.Stop()
	used, since := harness.CPU(tb, pid), time.Now()
	for time.Since(since) < still {
		<-ticker.C
		if now := harness.CPU(tb, pid); now > used+noise {
			used, since = now, time.Now()
		}
	}
	return harness.CPU(tb, pid)
}
