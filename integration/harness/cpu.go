package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// CPU returns the CPU time of all threads of a process, in user and in system mode, as the scheduler counts it.
func CPU(tb testing.TB, pid int) time.Duration {
	tb.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(files) == 0 {
		tb.Fatalf("process %d has no threads: %v", pid, err)
	}
	var total time.Duration
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // The thread has ended.
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
