package main

import (
	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/telemetry"
)

// countMiddlewares has the metrics read what middlewares count and hold.
func (s *system) countMiddlewares() {
	s.metrics.CountMiddlewares(func(yield func(telemetry.MiddlewareCounts) bool) {
		for standing := range s.compiler.Middlewares() {
			if !yield(summed(&standing)) {
				return
			}
		}
	})
}

// summed adds up what a middleware holds for its owners, so that the number of series does not grow with that of
// routers.
func summed(standing *router.MiddlewareStanding) telemetry.MiddlewareCounts {
	sum := telemetry.MiddlewareCounts{
		Middleware: standing.Name, Events: standing.Counts, Levels: map[string]int64{}, States: map[string]int{},
	}
	for _, owner := range standing.Owners {
		if owner.State != "" {
			sum.States[owner.State]++
		}
		for level, value := range owner.Levels {
			sum.Levels[level] += value
		}
	}
	return sum
}
