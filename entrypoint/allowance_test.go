package entrypoint_test

import (
	"math"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/entrypoint"
)

// TestBodiesEarnTime looks at bodies of which the bytes, in nanoseconds per second, are more than an int64 holds.
func TestBodiesEarnTime(t *testing.T) {
	t.Parallel()
	last := time.Duration(0)
	for _, bytes := range []int64{0, 240, 1 << 20, 9_000_000_000, 10_000_000_000, 1 << 40, math.MaxInt64} {
		earned := entrypoint.Allowance(bytes)
		if earned < last || earned < 5*time.Second {
			t.Errorf("%d bytes earn %v, fewer earn %v", bytes, earned, last)
		}
		last = earned
	}
	if earned := entrypoint.Allowance(480); earned != 7*time.Second {
		t.Errorf("480 bytes earn %v", earned)
	}
}
