package forward

import (
	"context"
	"errors"
	"time"

	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/loadbalancer/retry"
	"github.com/sluiceproxy/sluice/telemetry"
)

// attemptState is the position of an attempt among those of a service. The zero value is a single attempt.
type attemptState struct {
	service *Service
	// policy is the retry policy; nil never retries.
	policy *retry.Policy
	pick   loadbalancer.Request
	result loadbalancer.Result
	// first is the instant of the first attempt, start the time of this one if the pool measures latency.
	first time.Duration
	start time.Time
	// span is the attempt's span, if the request is sampled.
	span telemetry.Span
	// headed says that the response's head has arrived, next is the retry that the response is discarded for.
	headed bool
	next   *attempt
	// bar says why no retry followed, if one was possible; ended is the error of a request that ended during
	// the wait.
	bar   string
	ended error
}

// try records the endpoint, runs an attempt with its member, and reports the result to the member in any case.
func (s *Service) try(a *attempt) (err error) {
	t, record := &a.state, a.record
	record.Endpoint, record.OriginStatus, record.OriginBytes = a.target.Member.Address(), 0, 0
	if record.Observe != 0 {
		record.EndpointURL = a.target.Member.URL()
		if record.Span != nil {
			a.beginSpan()
		}
	}
	record.Tries++
	// A middleware's writer may panic in the middle of the response, which is no failure of the endpoint.
	t.result = loadbalancer.Result{
		Outcome: loadbalancer.Abandoned, Began: t.pick.Now, Now: t.pick.Now,
		Counted: t.pick.Counted,
	}
	defer a.done()
	if s.pool.Timed() {
		t.start = time.Now()
	}
	t.result.Outcome, err = a.run()
	return err
}

// done reports the attempt's result to its member.
func (a *attempt) done() {
	result := &a.state.result
	switch {
	case result.Outcome != loadbalancer.Answered:
		result.Now = a.state.service.pool.Instant(time.Now())
		result.Latency = 0
	case result.Latency > 0:
		result.Now = result.Began + result.Latency
	}
	if a.record.Observe.Has(telemetry.ObserveMetrics) {
		a.target.Member.Count(result)
	}
	a.target.Member.Done(*result)
	if a.state.span != nil {
		a.endSpan()
	}
}

// givesWay reports whether a response with a status that the policy retries is discarded, and prepares the retry.
func (a *attempt) givesWay() bool {
	if a.repeatable(RequestSent) {
		a.state.next = a.state.service.another(a)
	}
	return a.state.next != nil
}

// mayGiveWay reports whether a retry may need the client's body.
func (a *attempt) mayGiveWay() bool {
	t := &a.state
	if t.next != nil {
		return true
	}
	return !t.headed && t.policy != nil && t.policy.On != 0 && a.repeatable(RequestSent)
}

// repeatable reports whether the request and the policy allow a retry after a failure in the phase.
func (a *attempt) repeatable(phase Phase) bool {
	policy, r := a.state.policy, a.request
	a.mutex.Lock()
	shown := a.relayed
	a.mutex.Unlock()
	switch {
	case policy == nil || len(a.state.pick.Tried) >= policy.Attempts:
		return false
	case shown || phase == ResponseBegun || a.replayBody.Failure() != nil || r.Context().Err() != nil:
		return false
	}
	return phase == NothingSent || a.upgrade == "" && policy.Repeats(r.Method)
}

// afterFailure returns the retry after a failed attempt, or nil.
func (s *Service) afterFailure(a *attempt, failed *Error) *attempt {
	policy := a.state.policy
	if a.state.result.Outcome == loadbalancer.Abandoned && !failed.stalled {
		return nil
	}
	if policy == nil || policy.On&failed.condition() == 0 {
		return nil
	}
	if !a.repeatable(failed.Phase) {
		a.state.ended = a.request.Context().Err() // The client may have left in this moment.
		return nil
	}
	return s.another(a)
}

// another returns the next attempt with its member, or nil when no member is left or the budget is spent.
func (s *Service) another(a *attempt) *attempt {
	if !a.replayBody.Reserve() {
		return nil
	}
	next := s.ready(a)
	if next == nil {
		if a.body != nil {
			a.replayBody.Resume(&a.body.reader)
		}
		return nil
	}
	if a.body != nil {
		a.body.halt()
	}
	s.pool.Counters().Retries.Add(1)
	return next
}

// ready withdraws from the retry budget, waits for the backoff and acquires the member of the next attempt.
func (s *Service) ready(a *attempt) *attempt {
	t, budget := &a.state, s.pool.Budget()
	now, wait := s.pool.Instant(time.Now()), t.policy.Wait(len(t.pick.Tried)+1)
	if t.policy.Timeout > 0 && now+wait-t.first >= t.policy.Timeout {
		t.bar = "the time for tries is over"
		return nil
	}
	if !budget.Withdraw(now) {
		t.bar = "the retry budget is spent"
		s.pool.Counters().Exhausted.Add(1)
		return nil
	}
	if !pause(a.request.Context(), wait) {
		t.ended = a.request.Context().Err()
		budget.Return()
		return nil
	}
	if !a.replayBody.HandOver() {
		t.bar = "more of the body was read than is kept"
		budget.Return()
		return nil
	}
	next := s.newAttempt(a.writer, a.request, a.record, t.policy)
	next.replayBody, next.state.first = a.replayBody, t.first
	pick := &next.state.pick
	pick.Now = now + wait
	pick.Tried, pick.Again = append(t.pick.Tried[:len(t.pick.Tried):len(t.pick.Tried)], a.target.Member), t.policy.Again
	var err error
	if next.target.Member, err = s.pool.Acquire(pick); err != nil {
		t.bar = err.Error()
		if _, refused := errors.AsType[*loadbalancer.Refusal](err); !refused {
			t.ended = err
		}
		budget.Return()
		return nil
	}
	return next
}

// pause waits, and returns false when the request ends first.
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
