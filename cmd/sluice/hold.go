package main

import (
	"context"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/static"
)

// firstRoutes bounds how long the first clients wait for the first routes. Whoever waits longer has given up.
const firstRoutes = 10 * time.Second

// hold waits until Sluice is ready for the first time, at most ten seconds: who comes earlier waits in the queue of the
// socket, and gets no answer that there is no such route. What answers about Sluice itself is never held.
func (s *system) hold(ctx context.Context, entrypoint string) {
	if strings.EqualFold(entrypoint, static.InternalEntryPoint) || s.config.Ping != nil && s.config.Ping.EntryPoint == entrypoint {
		return
	}
	timer := time.NewTimer(firstRoutes)
	defer timer.Stop()
	select {
	case <-s.pipeline.FirstReady():
	case <-timer.C:
		s.logger.Warn("not ready yet; what is known serves", "entrypoint", entrypoint)
	case <-ctx.Done():
	}
}
