package main

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestPercentFor(t *testing.T) {
	for live, want := range map[uint64]int{
		0: 400, 5 << 20: 400, 12 << 20: 400, 24 << 20: 200, 48 << 20: 100, 96 << 20: 50, 128 << 20: 37,
		256 << 20: 25, 4 << 30: 25,
	} {
		if got := percentFor(live, maxPercent, headroomBytes); got != want {
			t.Errorf("%d MiB live: %d %%, want %d %%", live>>20, got, want)
		}
	}
	for live, want := range map[uint64]int{0: 200, 48 << 20: 200, 96 << 20: 100, 192 << 20: 50, 4 << 30: 25} {
		if got := percentFor(live, startPercent, startBytes); got != want {
			t.Errorf("%d MiB live at the start: %d %%, want %d %%", live>>20, got, want)
		}
	}
}

// TestCollectorFollowsTheHeap holds a large heap and looks at the target that the runtime then has.
func TestCollectorFollowsTheHeap(t *testing.T) {
	before := debug.SetGCPercent(maxPercent)
	defer debug.SetGCPercent(before)
	target := &pacer{}
	target.serving.Store(true)
	target.arm()
	held := make([]byte, 64<<20)
	deadline := time.Now().Add(10 * time.Second)
	for percent(t) > 80 {
		if time.Now().After(deadline) {
			t.Fatalf("the target is %d %% with 64 MiB alive", percent(t))
		}
		runtime.GC()
	}
	runtime.KeepAlive(held)
}

// percent returns the runtime's own target.
func percent(t *testing.T) int {
	t.Helper()
	current := debug.SetGCPercent(-1)
	debug.SetGCPercent(current)
	return current
}
