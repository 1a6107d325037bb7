package main

import (
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/sluiceproxy/sluice/telemetry"
)

const (
	// gcPercent lets the heap grow to five times what lives, which costs some 20 MB at rest and saves collections; see
	// docs/performance.
	gcPercent = 400
	// memoryShare is the part of the container's limit that the Go runtime may use; the rest is for the kernel's buffers.
	memoryShare = 0.9
)

// tuneMemory sets the collector's target unless GOGC is set, and makes GOMEMLIMIT follow the container's limit.
func tuneMemory(logger telemetry.Logger) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
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
