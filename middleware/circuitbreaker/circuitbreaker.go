// Package circuitbreaker implements the middleware circuitBreaker, which stops sending requests to a failing service.
//
// The breaker counts the heads of responses. If its condition becomes true, it trips and answers all requests itself
// for a time, and then a shrinking share of them. It works without locks and goroutines: counters are atomic, and a
// change of state swaps a pointer.
package circuitbreaker

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/telemetry"
)

// longest is a practically infinite duration that can be added to any time without overflow.
const longest = time.Duration(1 << 62)

// Options are the dependencies of a CircuitBreaker.
type Options struct {
	// Logger logs trips and recoveries; nil disables this.
	Logger telemetry.Logger
}

// CircuitBreaker is one configured circuitBreaker. Each owner has its own counters, unless the definition is shared.
type CircuitBreaker struct {
	name       string
	expression *expression
	// period is the minimum time between two checks of the expression.
	period   time.Duration
	fallback time.Duration
	recovery time.Duration
	status   int
	logger   telemetry.Logger
	// shared is the breaker of all owners; nil if each has its own.
	shared *breaker

	tripped, recovered, refused atomic.Uint64
}

// New checks the definition. The expression is required, durations must not be negative, and responseCode must be one
// of a final response (200 to 599). 0 means the defaults: 100 ms, 10 s, 10 s and 503.
func New(name string, config dynamic.CircuitBreaker, options Options) (*CircuitBreaker, error) {
	var defaults dynamic.CircuitBreaker
	defaults.SetDefaults()
	c := &CircuitBreaker{name: name, status: config.ResponseCode, logger: options.Logger}
	if c.logger == nil {
		c.logger = telemetry.Discard{}
	}
	if c.status == 0 {
		c.status = defaults.ResponseCode
	}
	if c.status < 200 || c.status > 599 {
		return nil, fmt.Errorf("circuitBreaker.responseCode %d is not a final status code (200 to 599)", c.status)
	}
	for _, duration := range []struct {
		option          string
		given, standard time.Duration
		set             *time.Duration
	}{
		{"checkPeriod", time.Duration(config.CheckPeriod), time.Duration(defaults.CheckPeriod), &c.period},
		{"fallbackDuration", time.Duration(config.FallbackDuration), time.Duration(defaults.FallbackDuration), &c.fallback},
		{"recoveryDuration", time.Duration(config.RecoveryDuration), time.Duration(defaults.RecoveryDuration), &c.recovery},
	} {
		switch *duration.set = min(duration.given, longest); {
		case duration.given < 0:
			return nil, fmt.Errorf("circuitBreaker.%s %v is negative", duration.option, duration.given)
		case duration.given == 0:
			*duration.set = duration.standard
		}
	}
	var err error
	if c.expression, err = parse(config.Expression); err != nil {
		return nil, fmt.Errorf("circuitBreaker.expression: %w", err)
	}
	if config.Shared {
		c.shared = newBreaker(c, "all that list it")
	}
	return c, nil
}

// NoRetain implements httpio.NoRetainer.
func (*CircuitBreaker) NoRetain() {}

// For returns the breaker of one owner, such as "router web@file", or the shared one.
func (c *CircuitBreaker) For(owner string) interface {
	Wrap(next http.Handler) http.Handler
} {
	if c.shared != nil {
		return c.shared
	}
	return newBreaker(c, owner)
}

// Wrap returns a handler with a breaker of its own, or the shared one.
func (c *CircuitBreaker) Wrap(next http.Handler) http.Handler { return c.For(c.name).Wrap(next) }

// Counts returns counters since New, over all owners: how often a breaker has "tripped" (also during recovery) and
// "recovered", and the number of "refused" requests.
func (c *CircuitBreaker) Counts() map[string]uint64 {
	return map[string]uint64{"tripped": c.tripped.Load(), "recovered": c.recovered.Load(), "refused": c.refused.Load()}
}
