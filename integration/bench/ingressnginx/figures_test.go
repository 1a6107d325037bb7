package ingressnginx

import (
	"context"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// times are durations of one thing that was done many times.
type times []time.Duration

// share returns the duration that a share of all, in percent, does not exceed.
func (t times) share(percent int) time.Duration {
	sorted := slices.Sorted(slices.Values(t))
	return sorted[min(len(sorted)-1, (len(sorted)*percent+99)/100-1)]
}

// String returns least, median, high shares and worst.
func (t times) String() string {
	return fmt.Sprintf("least %.1f, median %.1f, p90 %.1f, p99 %.1f, worst %.1f ms", milliseconds(slices.Min(t)),
		milliseconds(t.share(50)), milliseconds(t.share(90)), milliseconds(t.share(99)), milliseconds(slices.Max(t)))
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// results are everything that was measured.
type results struct {
	out   io.Writer
	of    map[string]float64
	lines []string
}

// note records a figure.
func (r *results) note(key string, value float64) { r.of[key] = value }

// say records and prints a line.
func (r *results) say(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	r.lines = append(r.lines, line)
	_, _ = fmt.Fprintf(r.out, "%s %s\n", time.Now().UTC().Format(time.TimeOnly), line)
}

// settle waits until a process uses little CPU, for two minutes at most.
func settle(tb testing.TB, pid int) {
	tb.Helper()
	for begun, used := time.Now(), harness.CPU(tb, pid); time.Since(begun) < 2*time.Minute; {
		pause(tb.Context(), time.Second)
		now := harness.CPU(tb, pid)
		if now-used < 10*time.Millisecond {
			return
		}
		used = now
	}
}

// pause waits, or until the context ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
