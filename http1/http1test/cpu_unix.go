//go:build unix

package http1test

import (
	"syscall"
	"testing"
	"time"
)

// CPUTime returns the time of the processor that the process has used.
func CPUTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
