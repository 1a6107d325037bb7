package main

import (
	"context"
	"reflect"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// arenaBytes is what the Go runtime reserves of the address space at a time, on the systems with 64 bits; maxArenas
	// bounds the search.
	arenaBytes = 64 << 20
	maxArenas  = 1 << 10
	// adviceInterval is how often arenas are looked for that the heap has grown by.
	adviceInterval = 30 * time.Second
)

// useHugePages requests huge pages for the heap until ctx ends. Where the system grants them on request (madvise),
// the default of most, the many small objects of connections then need a few entries of the processor's address cache
// instead of thousands.
func useHugePages(ctx context.Context) {
	heap := reflect.ValueOf(new([1 << 12]byte)).Pointer()
	tick := time.NewTicker(adviceInterval)
	defer tick.Stop()
	for {
		adviseHugePages(heap)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// adviseHugePages requests them for the arena that holds the address and for those behind it, and returns how many
// there are. What the system makes of it shows in the process's memory map alone: it is advice.
func adviseHugePages(heap uintptr) (arenas int) {
	if ^uintptr(0)>>32 == 0 {
		return 0 // Arenas are smaller there, and so is the heap.
	}
	for base := heap &^ (arenaBytes - 1); arenas < maxArenas; base += arenaBytes {
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, base, arenaBytes, unix.MADV_HUGEPAGE); errno != 0 {
			break
		}
		arenas++
	}
	return arenas
}
