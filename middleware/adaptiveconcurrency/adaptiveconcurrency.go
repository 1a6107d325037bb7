// Package adaptiveconcurrency implements the middleware adaptiveConcurrency, which limits the requests in progress to
// what the service can bear. It finds the limit by the latency of responses, by the algorithm Gradient2 of Netflix's
// concurrency-limits. Requests beyond it wait in a queue of package adaptivelifo.
package adaptiveconcurrency

import (
	"fmt"
	"math"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

// AdaptiveConcurrency is one configured adaptiveConcurrency.
type AdaptiveConcurrency struct {
	name     string
	settings settings
	// shared is the step of all owners, or nil if each has its own.
	shared                   *step
	refused, queued, dropped atomic.Uint64
}

// settings are the options of a limiter.
type settings struct {
	least, most int64
	tolerance   float64
	// timeout is how long a request waits; 0 for not at all.
	timeout time.Duration
}

// New checks the definition: 1 <= min <= max <= 1,000,000, a tolerance from 1 to 10, and a queueTimeout
// of at least 0. The error begins with the option.
func New(name string, config dynamic.AdaptiveConcurrency) (*AdaptiveConcurrency, error) {
	switch {
	case config.Min < 1:
		return nil, fmt.Errorf("adaptiveConcurrency.min %d is less than 1", config.Min)
	case config.Max < config.Min || config.Max > largestLimit:
		return nil, fmt.Errorf("adaptiveConcurrency.max %d is not from min, %d, to %d", config.Max, config.Min, largestLimit)
	case math.IsNaN(config.Tolerance) || config.Tolerance < 1 || config.Tolerance > 10:
		return nil, fmt.Errorf("adaptiveConcurrency.tolerance %v is not from 1 to 10", config.Tolerance)
	case config.QueueTimeout < 0:
		return nil, fmt.Errorf("adaptiveConcurrency.queueTimeout %s is less than 0", time.Duration(config.QueueTimeout))
	}
	a := &AdaptiveConcurrency{name: name, settings: settings{
		least: int64(config.Min), most: int64(config.Max), tolerance: config.Tolerance,
		timeout: time.Duration(config.QueueTimeout),
	}}
	if config.Shared {
		a.shared = a.step()
	}
	return a, nil
}

// largestLimit is the largest max.
const largestLimit = 1_000_000

func (a *AdaptiveConcurrency) step() *step {
	return &step{middleware: a, limiter: newLimiter(&a.settings)}
}

// NoRetain implements httpio.NoRetainer.
func (*AdaptiveConcurrency) NoRetain() {}

// For returns the step with the limit of one owner, or that of all owners if the definition is shared.
func (a *AdaptiveConcurrency) For(string) interface {
	Wrap(next http.Handler) http.Handler
} {
	if a.shared != nil {
		return a.shared
	}
	return a.step()
}

// Wrap returns a handler with a limit of its own, or the shared one.
func (a *AdaptiveConcurrency) Wrap(next http.Handler) http.Handler { return a.For(a.name).Wrap(next) }

// Counts returns how many requests were "refused" since New, over all owners, of which "dropped" were in an overloaded
// queue, and how many had to wait ("queued").
func (a *AdaptiveConcurrency) Counts() map[string]uint64 {
	return map[string]uint64{"refused": a.refused.Load(), "queued": a.queued.Load(), "dropped": a.dropped.Load()}
}
