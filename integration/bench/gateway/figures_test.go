package gateway

import (
	"fmt"
	"io"
	"os"
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

// figure is what one thing was measured as.
type figure struct{ value float64 }

// results are everything that was measured.
type results struct {
	out   io.Writer
	of    map[string]*figure
	lines []string
}

// note records a figure.
func (r *results) note(key string, value float64) { r.of[key] = &figure{value} }

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

// resident returns the memory of a process in bytes (VmRSS).
func resident(tb testing.TB, pid int) int64 {
	tb.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		tb.Fatal(err)
	}
	var size, pages int64
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		tb.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}
