package kubernetes

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// busy returns how long all cores together have worked, or have been taken away by the machine's host.
func busy(tb testing.TB) time.Duration {
	tb.Helper()
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		tb.Fatal(err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	var ticks int64
	for i, field := range strings.Fields(line) {
		if i < 1 || i == 4 || i == 5 || i > 8 { // The name, idle, waiting for a disk, and guests, which are in user already.
			continue
		}
		value, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			tb.Fatal(err)
		}
		ticks += value
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// pause waits, or until the test ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

const (
	// still is how long a process must have used little CPU to be quiet.
	still = time.Second
	// quietControl and quietSluice are what a control plane, which always has something to do, and Sluice may use in that
	// time.
	quietControl = 150 * time.Millisecond
	quietSluice  = 5 * time.Millisecond
	// mostQuiet is how long quiet is waited for.
	mostQuiet = time.Minute
)

// quiet waits until a process uses little CPU, for a minute at most; after that, measurements are marked as disturbed.
func quiet(tb testing.TB, pid int, most time.Duration) {
	tb.Helper()
	for begun, used := time.Now(), harness.CPU(tb, pid); time.Since(begun) < mostQuiet; {
		pause(tb.Context(), still)
		now := harness.CPU(tb, pid)
		if now-used <= most {
			return
		}
		used = now
	}
}

// account is the CPU time that has been used until some moment.
type account struct {
	when                                  time.Time
	sluice, informer, control, ours, busy time.Duration
}

// account reads the CPU time of all participants.
func (s *subject) account(tb testing.TB) account {
	tb.Helper()
	a := account{
		when: time.Now(), sluice: harness.CPU(tb, s.PID()), control: harness.CPU(tb, s.world.PID()), busy: busy(tb),
	}
	a.ours = a.sluice + a.control + harness.CPU(tb, os.Getpid())
	if s.informer != nil {
		a.informer = harness.CPU(tb, s.informer.pid())
		a.ours += a.informer
	}
	return a
}

// others returns the usage of the machine by others between two accounts, in percent.
func others(before, after account) float64 {
	return max(0, part(before, after, (after.busy-before.busy)-(after.ours-before.ours))) // Ticks are coarse.
}

// part returns how much of the machine a CPU time between two accounts is, in percent.
func part(before, after account, used time.Duration) float64 {
	length := after.when.Sub(before.when)
	if length <= 0 {
		return 0
	}
	return 100 * float64(used) / float64(length) / float64(cores())
}

// shares lists the usage of the machine between two accounts.
func shares(before, after account) string {
	sluice, control := after.sluice-before.sluice, after.control-before.control
	clients := after.ours - before.ours - sluice - control
	return fmt.Sprintf("of the machine: Sluice %.0f %%, control plane %.0f %%, clients and endpoints %.0f %%, others "+
		"%.0f %%",
		part(before, after, sluice), part(before, after, control), part(before, after, clients), others(before, after))
}

// cores returns how many cores the machine has.
func cores() int {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 1
	}
	count := 0
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "cpu") && !strings.HasPrefix(line, "cpu ") {
			count++
		}
	}
	return max(1, count)
}
