package main

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/sluiceproxy/sluice/telemetry"
)

const (
	// maxPercent lets a small heap grow to five times what lives, which costs some 20 MB at rest and saves collections;
	// see docs/performance.
	maxPercent = 400
	// startPercent is what the heap may grow by until the first state serves: nearly all that is read then stays, and
	// collections would take a third of the start.
	startPercent = 200
	// startBytes bounds that growth, so that a large state does not need three times its memory to be read.
	startBytes = 96 << 20
	// minPercent is what a large heap may grow by, so that it is not collected all the time.
	minPercent = 25
	// headroomBytes is what a heap between the two may grow by: what is collected less often than that is hardly worth its
	// memory, and tens of thousands of routes live in a multiple of what requests need.
	headroomBytes = 48 << 20
	// memoryShare is the part of the container's limit that the Go runtime may use; the rest is for the kernel's buffers.
	memoryShare = 0.9
)

// tuneMemory sets the collector's target until settleMemory, unless GOGC is set, and makes GOMEMLIMIT follow the
// container's limit.
func tuneMemory(logger telemetry.Logger) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(startPercent)
	}
	limit, err := memlimit.Set(memlimit.WithRatio(memoryShare), memlimit.WithProvider(memlimit.FromCgroup))
	if err != nil {
		logger.Debug("no memory limit of a container", "reason", err)
		return
	}
	if limit > 0 {
		logger.Debug("memory limit", "bytes", limit)
	}
}

// settleMemory keeps setting the collector's target, unless GOGC is set, and returns to the system what reading the
// first state has left behind, once that serves. A state that is late is not waited for.
func (s *system) settleMemory(ctx context.Context) {
	target := &pacer{}
	if os.Getenv("GOGC") == "" {
		target.arm()
	}
	late := time.NewTimer(firstRoutes)
	defer late.Stop()
	select {
	case <-s.pipeline.FirstReady():
	case <-late.C:
	case <-ctx.Done():
		return
	}
	target.serving.Store(true)
	debug.FreeOSMemory() // The collection sets the target, too.
}

// pacer sets the collector's target after each collection, by what was found alive.
type pacer struct {
	percent int
	// serving says that the first state serves.
	serving atomic.Bool
}

// sentinel is what a collection finds dead.
type sentinel struct{ _ *pacer }

// arm waits for the next collection, which ends the life of a sentinel without references.
func (p *pacer) arm() { runtime.AddCleanup(new(sentinel), (*pacer).collected, p) }

func (p *pacer) collected() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	most, headroom := startPercent, uint64(startBytes)
	if p.serving.Load() {
		most, headroom = maxPercent, headroomBytes
	}
	// Setting the target stops the world for a moment, so small differences are left alone.
	percent := percentFor(live[0].Value.Uint64(), most, headroom)
	if percent < p.percent*9/10 || percent > p.percent*11/10 {
		p.percent = percent
		debug.SetGCPercent(percent)
	}
	p.arm()
}

// percentFor returns the growth to allow, in percent of the bytes that live: headroom bytes, but at least minPercent
// and at most most percent.
func percentFor(live uint64, most int, headroom uint64) int {
	return int(min(max(100*headroom/max(live, 1), minPercent), uint64(most))) //nolint:gosec // A percentage.
}
