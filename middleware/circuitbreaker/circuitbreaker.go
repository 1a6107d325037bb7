// Package circuitbreaker is the middleware circuitBreaker: it stops sending requests to a service that fails them.
//
// What flows in: requests, and the heads of the responses that the service gives to them. What flows out: the same
// requests, or, after a condition on what was counted has come true, answers in the service's place: to all requests
// for a while, and then to ever fewer of them. It never looks at a body, holds nothing back, starts no goroutine, and
// takes no lock: what is counted is counted by atomic additions, and a change of state is one exchange of a pointer.
package circuitbreaker

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/telemetry"
)

// longest is a duration that can be added to any time without an overflow; nobody sees its end.
const longest = time.Duration(1 << 62)

// Options are what a circuit breaker needs beside its definition.
type Options struct {
	// Logger gets a line when a breaker trips, and one when it has recovered; nil logs nothing.
	Logger telemetry.Logger
}

// CircuitBreaker is one configured circuitBreaker. What it counts is kept apart for each owner, unless the definition
// is shared.
type CircuitBreaker struct {
	name       string
	expression *expression
	// period is the shortest time between two checks of the expression.
	period   time.Duration
	fallback time.Duration
	recovery time.Duration
	status   int
	logger   telemetry.Logger
	// shared is the breaker of all owners; nil when each has its own.
	shared *breaker

	tripped, recovered, refused atomic.Uint64
}

// New checks the definition. The expression is required, durations must not be negative, and responseCode must be one
// of a final response (200 to 599). Durations and a responseCode of 0 stand for the defaults: 100 ms, 10 s, 10 s and
// 503.
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

// NoRetain says that no part of a request outlives its handler here.
func (*CircuitBreaker) NoRetain() {}

// For returns the breaker of one owner, such as "router web@file", which trips alone; where the definition is shared,
// the one of all.
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

// Counts returns what has happened since New, over all owners: how often a breaker has "tripped" (from recovering too),
// how often one has "recovered", and how many requests were "refused".
func (c *CircuitBreaker) Counts() map[string]uint64 {
	return map[string]uint64{"tripped": c.tripped.Load(), "recovered": c.recovered.Load(), "refused": c.refused.Load()}
}
