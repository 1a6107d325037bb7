package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// still is how long a process must have used next to no CPU to be idle. It is longer than a burst of changes is held,
// and than the quiet window of verdicts.
const still = 700 * time.Millisecond

// noise is the CPU time that a process may use in that time and be idle: the runtime looks after its memory now and
// then.
const noise = 2 * time.Millisecond

// cpu returns the CPU time that a process has used, in user and in system mode: what /proc/PID/stat rounds to
// hundredths of a second. The threads of a Go process do not end, so that their sum only grows.
func cpu(tb testing.TB, pid int) time.Duration {
	tb.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(files) == 0 {
		tb.Fatalf("process %d has no threads: %v", pid, err)
	}
	var total time.Duration
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		running, _, _ := strings.Cut(string(text), " ")
		nanoseconds, err := strconv.ParseInt(running, 10, 64)
		if err != nil {
			tb.Fatal(err)
		}
		total += time.Duration(nanoseconds)
	}
	return total
}

// idle waits until a process uses no CPU any more, and returns what it has used.
func idle(tb testing.TB, pid int) time.Duration {
	tb.Helper()
	ticker := time.NewTicker(still / 20)
	defer ticker.Stop()
	used, since := cpu(tb, pid), time.Now()
	for time.Since(since) < still {
		<-ticker.C
		if now := cpu(tb, pid); now > used+noise {
			used, since = now, time.Now()
		}
	}
	return cpu(tb, pid)
}
