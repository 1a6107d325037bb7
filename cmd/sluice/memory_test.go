package main

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestPercentFor(t *testing.T) {
	for live, want := range map[uint64]int{
		0: 400, 5 << 20: 400, 12 << 20: 400, 24 << 20: 200, 48 << 20: 100, 96 << 20: 50,
		4 << 30: 50,
	} {
		if got := percentFor(live); got != want {
			t.Errorf("%d MiB live: %d %%, want %d %%", live>>20, got, want)
		}
	}
}

// TestCollectorFollowsTheHeap holds a large heap and looks at the target that the runtime then has.
func TestCollectorFollowsTheHeap(t *testing.T) {
	before := debug.SetGCPercent(maxPercent)
	defer debug.SetGCPercent(before)
	new(pacer).arm()
	held := make([]byte, 64<<20)
	deadline := time.Now().Add(10 * time.Second)
	for target(t) > 80 {
		if time.Now().After(deadline) {
			t.Fatalf("the target is %d %% with 64 MiB alive", target(t))
		}
		runtime.GC()
	}
	runtime.KeepAlive(held)
}

// target returns the runtime's own target in percent.
func target(t *testing.T) int {
	t.Helper()
	percent := debug.SetGCPercent(-1)
	debug.SetGCPercent(percent)
	return percent
}
