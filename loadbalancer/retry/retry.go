// Package retry decides when a request may be retried, and how often a pool may do so.
//
// A Policy is made from the option retry of a load balancer or of a middleware and is shared by all requests. A Budget
// is the state of one pool. A middleware passes its Policy to the pool in the request's context, where it replaces the
// pool's own; the pool's Budget applies to both.
package retry

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

const (
	// DefaultAttempts is the default number of retries (retry.attempts).
	DefaultAttempts = 2
	// DefaultMaxBody is the default of how much of a request's body a pool keeps for retries (retry.maxRequestBodyBytes),
	// in bytes.
	DefaultMaxBody = 64 << 10
	// DefaultBudgetPercent is the default number of retries per hundred requests (retry.budgetPercent).
	DefaultBudgetPercent = 20
	// NoBudget is the percentage of a budget without a limit.
	NoBudget = -1
	// maxInterval bounds the wait before the second try.
	maxInterval = time.Hour
	// maxAttempts and maxBudgetPercent bound what makes sense: more is a mistake in the configuration.
	maxAttempts      = 100
	maxBudgetPercent = 1000
)

// Policy decides which requests are retried after which failures. It must not be changed after its first use.
type Policy struct {
	// Attempts is how many further tries there may be after the first; 0 is none.
	Attempts int
	// PerTry bounds each try until the head of its response is there; 0 does not. The time that the client
	// takes for its body does not count.
	PerTry time.Duration
	// Timeout is how long after the first try another one may begin; 0 sets no limit.
	Timeout time.Duration
	// Status are the status codes that are worth another try, of requests that may be repeated after they were sent.
	Status dynamic.StatusCodes
	// NonIdempotent allows to repeat requests of any method after something of them was sent.
	NonIdempotent bool
	// MaxBody is how much of a request's body is kept to be sent again, in bytes; negative is no limit. A
	// request of whose body more was read is not tried again.
	MaxBody int64
	// InitialInterval is the wait before the second try. It doubles until the last; 0 does not wait.
	InitialInterval time.Duration
	// On are the failures that are worth another try.
	On Condition
	// Again allows to go back to an endpoint that has been tried when there is no other.
	Again bool
	// BudgetPercent is how many retries the pool's Budget allows in a hundred requests. It is of no use in a
	// policy of a middleware.
	BudgetPercent int
}

// New returns the policy of a pool (loadBalancer.retry); nil is the default policy: two further tries of
// requests of which nothing was sent, and of idempotent ones without a response, whatever their status would
// have been. An error names the option.
func New(config *dynamic.ServerRetry) (*Policy, error) {
	p := &Policy{
		Attempts: DefaultAttempts, MaxBody: DefaultMaxBody, On: OnAny, BudgetPercent: DefaultBudgetPercent,
	}
	if config == nil {
		return p, nil
	}
	if config.Attempts != nil {
		p.Attempts = *config.Attempts
	}
	if config.MaxRequestBodyBytes != nil {
		p.MaxBody = *config.MaxRequestBodyBytes
	}
	if config.BudgetPercent != nil {
		p.BudgetPercent = *config.BudgetPercent
	}
	p.PerTry, p.NonIdempotent = time.Duration(config.PerTryTimeout), config.RetryNonIdempotentMethod
	p.Again, p.Timeout = config.SameServer, time.Duration(config.Timeout)
	// Wait shortens the wait by up to a half, and the option is the least one.
	p.InitialInterval = 2 * time.Duration(config.InitialInterval)
	var err error
	if p.On, err = conditions(config); err != nil {
		return nil, err
	}
	if p.Status, err = dynamic.ParseStatusCodes(config.Status); err != nil {
		return nil, fmt.Errorf("retry.%w", err)
	}
	switch {
	case p.Timeout < 0:
		return nil, fmt.Errorf("retry.timeout %s is negative", p.Timeout)
	case p.Attempts < 0 || p.Attempts > maxAttempts:
		return nil, fmt.Errorf("retry.attempts %d is not from 0 to %d", p.Attempts, maxAttempts)
	case p.PerTry < 0:
		return nil, fmt.Errorf("retry.perTryTimeout %s is negative", p.PerTry)
	case p.BudgetPercent < NoBudget || p.BudgetPercent > maxBudgetPercent:
		return nil, fmt.Errorf("retry.budgetPercent %d is neither from 0 to %d nor %d, which sets no limit",
			p.BudgetPercent, maxBudgetPercent, NoBudget)
	case config.InitialInterval < 0 || time.Duration(config.InitialInterval) > maxInterval:
		return nil, fmt.Errorf("retry.initialInterval %s is not from 0 to %s", time.Duration(config.InitialInterval),
			maxInterval)
	case p.On == 0 && p.Status.Empty():
		return nil, errNothing
	}
	return p, nil
}

var errNothing = errors.New("retry.disableRetryOnNetworkError leaves nothing to retry on without retry.status")

// NewMiddleware returns the policy of a middleware (http.middlewares.NAME.retry). Its attempts include the first one,
// and it returns to tried endpoints when there is no other, because the number of attempts is explicit. An error names
// the option.
func NewMiddleware(config *dynamic.Retry) (*Policy, error) {
	p := &Policy{
		Attempts:        config.Attempts - 1,
		Timeout:         time.Duration(config.Timeout),
		NonIdempotent:   config.RetryNonIdempotentMethod,
		MaxBody:         DefaultMiddlewareMaxBody,
		InitialInterval: time.Duration(config.InitialInterval),
		On:              OnAny,
		Again:           true,
	}
	if config.DisableRetryOnNetworkError {
		p.On = 0
	}
	if config.MaxRequestBodyBytes != nil {
		p.MaxBody = *config.MaxRequestBodyBytes
	}
	var err error
	if p.Status, err = dynamic.ParseStatusCodes(config.Status); err != nil {
		return nil, fmt.Errorf("retry.%w", err)
	}
	switch {
	case p.Attempts < 0:
		return nil, errors.New("retry.attempts must be at least 1: it counts the first try")
	case p.Attempts > maxAttempts:
		return nil, fmt.Errorf("retry.attempts %d is more than %d", config.Attempts, maxAttempts+1)
	case p.InitialInterval < 0:
		return nil, fmt.Errorf("retry.initialInterval %s is negative", p.InitialInterval)
	case p.Timeout < 0:
		return nil, fmt.Errorf("retry.timeout %s is negative", p.Timeout)
	case p.On == 0 && p.Status.Empty():
		return nil, errNothing
	}
	return p, nil
}

// DefaultMiddlewareMaxBody is the default of how much of a request's body is kept for retries by a middleware
// (retry.maxRequestBodyBytes), in bytes.
const DefaultMiddlewareMaxBody = 2 << 20

// Repeats reports whether a request of the method may be sent again after the endpoint may have seen it: it
// makes no difference (RFC 9110 section 9.2.2), or the policy allows it.
func (p *Policy) Repeats(method string) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	return p.NonIdempotent
}

// Wait returns how long to wait before a retry, of which the first is number 1. It grows from InitialInterval
// to twice that at the last one, and is shortened at random by up to a half, so that requests that failed
// together do not come back together.
func (p *Policy) Wait(number int) time.Duration {
	if p.InitialInterval <= 0 || number < 1 {
		return 0
	}
	grown := float64(p.InitialInterval)
	if p.Attempts > 1 {
		grown *= math.Exp2(float64(min(number, p.Attempts)-1) / float64(p.Attempts-1))
	}
	return time.Duration(grown * (1 - rand.Float64()/2))
}

type policyKey struct{}

// WithPolicy returns a context that carries the policy for whichever pool answers the request.
func WithPolicy(ctx context.Context, policy *Policy) context.Context {
	return &policyContext{Context: ctx, policy: policy}
}

// policyContext is a context with a policy. It is faster than one of package context.
type policyContext struct {
	context.Context
	policy *Policy
}

// Value returns the policy under its key, and otherwise what the context below holds.
func (c *policyContext) Value(key any) any {
	if key == (policyKey{}) {
		return c.policy
	}
	return c.Context.Value(key)
}

// EndsWith returns the context below, with which this one ends.
func (c *policyContext) EndsWith() context.Context { return c.Context }

// PolicyFrom returns the policy that the context carries, or nil.
func PolicyFrom(ctx context.Context) *Policy {
	policy, _ := ctx.Value(policyKey{}).(*Policy)
	return policy
}
