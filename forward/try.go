package forward

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/loadbalancer/retry"
	"github.com/sluiceproxy/sluice/telemetry"
)

// trial is what an exchange is as one of several tries of a service. The zero value is the only try that there is.
type trial struct {
	service *Service
	// policy says whether there may be another; nil never.
	policy *retry.Policy
	ask    loadbalancer.Request
	result loadbalancer.Result
	// first is the instant of the first try, start the time of this one where somebody wants to know how long the head takes.
	first time.Duration
	start time.Time
	// span is that of the try, where the request is sampled.
	span telemetry.Span
	// headed says that the head of the response is there, next is the try that it gives way to.
	headed bool
	next   *exchange
	// bar says why there was no other try, where there might have been one; ended why the request did not wait for it.
	bar   string
	ended error
}

// try runs an exchange with its member, which is told how it ended. It is counted out whatever happens.
func (s *Service) try(x *exchange) (err error) {
	t := &x.trial
	x.begin()
	x.record.Tries++
	// A middleware's writer may panic in the middle of the response, which says nothing about the endpoint.
	t.result = loadbalancer.Result{Outcome: loadbalancer.Abandoned, Began: t.ask.Now, Now: t.ask.Now, Counted: t.ask.Counted}
	defer x.done()
	if s.pool.Timed() {
		t.start = time.Now()
	}
	t.result.Outcome, err = x.serve()
	return err
}

// done counts the exchange out.
func (x *exchange) done() {
	result := &x.trial.result
	switch {
	case result.Outcome != loadbalancer.Answered:
		result.Now = x.trial.service.pool.Instant(time.Now())
		result.Latency = 0
	case result.Latency > 0:
		result.Now = result.Began + result.Latency
	}
	x.target.Member.Done(*result)
	if x.trial.span != nil {
		x.endSpan()
	}
}

// answered notes that the head of a response is there. How long it took says something about the endpoint only where the client had sent
// everything before.
func (x *exchange) answered(status int) {
	t := &x.trial
	t.headed, t.result.Status = true, status
	x.record.OriginStatus = status
	if !t.start.IsZero() && (x.body == nil || x.direct() && x.call.Alone()) {
		t.result.Latency = max(time.Since(t.start), 1)
	}
}

// givesWay reports whether a response is worth another try, for which everything is ready then.
func (x *exchange) givesWay(status int) bool {
	t := &x.trial
	if t.policy == nil || !t.policy.Status.Contains(status) || !x.repeatable(RequestSent) {
		return false
	}
	t.next = t.service.another(x)
	return t.next != nil
}

// mayGiveWay reports whether somebody may want to go on with the client's body.
func (x *exchange) mayGiveWay() bool {
	t := &x.trial
	if t.next != nil {
		return true
	}
	return !t.headed && t.policy != nil && t.policy.OnNetworkError && x.repeatable(RequestSent)
}

// repeatable reports whether another try is allowed after a failure in the phase, as far as the request and the policy are concerned.
func (x *exchange) repeatable(phase Phase) bool {
	policy, r := x.trial.policy, x.request
	x.mutex.Lock()
	shown := x.relayed
	x.mutex.Unlock()
	switch {
	case policy == nil || len(x.trial.ask.Tried) >= policy.Attempts:
		return false
	case shown || phase == ResponseBegun || x.source.failed() != nil || r.Context().Err() != nil:
		return false
	}
	return phase == NothingSent || x.upgrade == "" && policy.Repeats(r.Method)
}

// afterFailure returns the next try after one that has failed, or nil.
func (s *Service) afterFailure(x *exchange, failed *Error) *exchange {
	policy := x.trial.policy
	if x.trial.result.Outcome == loadbalancer.Abandoned || policy == nil || !policy.OnNetworkError || !x.repeatable(failed.Phase) {
		return nil
	}
	return s.another(x)
}

// another returns the next try with a member that it may have, or nil when there is none, or none that the budget allows.
func (s *Service) another(x *exchange) *exchange {
	if !x.source.promise() {
		return nil
	}
	next := s.ready(x)
	if next == nil {
		x.source.revoke(x.body)
		return nil
	}
	if x.body != nil {
		x.body.halt()
	}
	s.pool.Counters().Retries.Add(1)
	return next
}

// ready pays for the next try, waits for its time and acquires its member.
func (s *Service) ready(x *exchange) *exchange {
	t, budget := &x.trial, s.pool.Budget()
	now, wait := s.pool.Instant(time.Now()), t.policy.Wait(len(t.ask.Tried)+1)
	if t.policy.Timeout > 0 && now+wait-t.first >= t.policy.Timeout {
		t.bar = "the time for tries is over"
		return nil
	}
	if !budget.Withdraw(now) {
		t.bar = "the retry budget is spent"
		s.pool.Counters().Exhausted.Add(1)
		return nil
	}
	if !pause(x.request.Context(), wait) {
		t.ended = x.request.Context().Err()
		budget.Return()
		return nil
	}
	if !x.source.confirm() {
		t.bar = "more of the body was read than is kept"
		budget.Return()
		return nil
	}
	next := s.exchange(x.writer, x.request, x.record, t.policy)
	next.source, next.trial.first = x.source, t.first
	ask := &next.trial.ask
	ask.Now = now + wait
	ask.Tried, ask.Again = append(t.ask.Tried[:len(t.ask.Tried):len(t.ask.Tried)], x.target.Member), t.policy.Again
	var err error
	if next.target.Member, err = s.pool.Acquire(ask); err != nil {
		t.bar = err.Error()
		if _, refused := errors.AsType[*loadbalancer.Refusal](err); !refused {
			t.ended = err
		}
		budget.Return()
		return nil
	}
	return next
}

// pause waits, and is false when the request has ended before.
func pause(ctx context.Context, wait time.Duration) bool {
	if wait <= 0 {
		return true
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// policyFor returns the policy of a middleware, or that of the service.
func (s *Service) policyFor(r *http.Request) *retry.Policy {
	if own := retry.PolicyFrom(r.Context()); own != nil {
		return own
	}
	return s.options.Retry
}
