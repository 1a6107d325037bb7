package forward

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/forward/relay"
	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/httpio/replay"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/loadbalancer/retry"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/metrics"
)

// Options are the options of a service.
type Options struct {
	// Service is the service's qualified name.
	Service string
	// PassHostHeader sends the client's Host header instead of the server's own (passHostHeader).
	PassHostHeader bool
	// FlushInterval is the longest wait before written bytes are flushed to the client; negative flushes after each
	// write, 0 leaves it to the server's buffers (responseForwarding.flushInterval). Responses that stream are flushed
	// after each write in any case.
	FlushInterval time.Duration
	// Retry is the retry policy; nil never retries. A policy in the context of a request takes precedence
	// (retry.WithPolicy).
	Retry *retry.Policy
	// Transport is the transport of the pool's upstreams, whose memory the service shares; nil uses memory of its
	// own.
	Transport *Transport
	// Series counts the requests that the service answers; nil counts none.
	Series *metrics.Series
}

// Service answers requests with the endpoints of a pool.
type Service struct {
	pool    *loadbalancer.Pool
	options Options
	memory  *memory
}

// memory is recycled memory, which the services of a transport share.
type memory struct {
	// attempts holds attempts to which no reference is left, streams what sent them over HTTP/2.
	attempts sync.Pool
	streams  sync.Pool
	bodies   replay.Memory
	tunnels  relay.Engine
}

// NewService returns the handler of a service.
func NewService(pool *loadbalancer.Pool, options Options) *Service {
	if options.Transport == nil {
		return &Service{pool: pool, options: options, memory: new(memory)}
	}
	return &Service{pool: pool, options: options, memory: &options.Transport.memory}
}

// ServeHTTP forwards the request to the member that the pool picks, and retries with others by the retry
// policy: only while the client has seen nothing of a response, and only if the request is safe to repeat or
// nothing was sent. The client sees the response of the last attempt alone.
//
// It answers 503 when no endpoint is available, 502 for an endpoint that can't be reached or breaks off, 504
// for one that takes too long, and 400, 408 or 413 for a request body that can't be read; a client that left is
// recorded as 499. A response that breaks off after it has begun ends in a panic with http.ErrAbortHandler, as
// net/http expects.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	record := telemetry.RecordFrom(r.Context())
	record.Service = s.options.Service
	if record.Observe != 0 {
		record.ServiceSeries = s.options.Series
	}
	start := record.Start
	if start.IsZero() {
		start = time.Now()
	}
	var served *loadbalancer.Member // At the first attempt.
	if record.Observe&measured != 0 {
		before := time.Since(start)
		defer took(record, start, before, &served)
	}
	policy := retry.PolicyFrom(r.Context()) // that of a middleware
	if policy == nil {
		policy = s.options.Retry
	}
	a := s.newAttempt(w, r, record, policy)
	a.state.first = s.pool.Instant(start)
	a.state.pick.Now = a.state.first
	var err error
	if a.target.Member, err = s.pool.Acquire(&a.state.pick); err != nil {
		s.refuse(a, err)
		return
	}
	for a != nil {
		if err = s.try(a); err == nil {
			if len(a.state.pick.Tried) == 0 {
				served = a.target.Member
			}
			s.succeed(a)
			return
		}
		a = s.next(a, err)
	}
}

// InjectsTrace says that the service adds the Traceparent field where the request's header lacks it
// (telemetry.Record.TraceApart).
func (*Service) InjectsTrace() {}

// newAttempt returns an attempt for the request, without a member.
func (s *Service) newAttempt(w http.ResponseWriter, r *http.Request, record *telemetry.Record,
	policy *retry.Policy,
) *attempt {
	a, recycled := s.memory.attempts.Get().(*attempt)
	if !recycled {
		a = new(attempt)
	}
	a.writer, a.request, a.record = w, r, record
	a.target = target{PassHostHeader: s.options.PassHostHeader, FlushInterval: s.options.FlushInterval}
	a.state.service, a.state.policy = s, policy
	a.state.pick.HTTP, a.state.pick.Client = r, record.Client
	return a
}

// recycle keeps an attempt for another request. No reference to it may be left.
func (s *Service) recycle(a *attempt) {
	clear(a.list[:cap(a.list)]) // the strings pin a whole response head
	if a.stream != nil {
		a.stream.Reset()
		s.memory.streams.Put(a.stream)
	}
	*a = attempt{inform: a.inform, list: a.list[:0]}
	s.memory.attempts.Put(a)
}

// next returns the attempt that follows one that has failed, or nil when the request has been answered.
func (s *Service) next(a *attempt, err error) *attempt {
	if a.state.next != nil {
		return a.state.next
	}
	failed, ok := errors.AsType[*Error](err)
	if ok {
		if next := s.afterFailure(a, failed); next != nil {
			return next
		}
	}
	if a.replayBody != nil {
		a.replayBody.Release()
	}
	s.giveUp(a, failed)
	return nil
}

// succeed ends a request whose response was written completely.
func (s *Service) succeed(a *attempt) {
	t := &a.state
	if t.policy != nil && t.policy.Attempts > 0 && !t.policy.Status.Contains(t.result.Status) {
		s.pool.Budget().Succeeded(t.pick.Now)
	}
	if a.replayBody != nil {
		a.replayBody.Release()
	}
	// No goroutine or timer keeps a part of an attempt or of the client's request if it went over HTTP/1.1, its body was
	// buffered, and no timer was started. An earlier attempt may still be reading from the client.
	if a.alone() && a.upgrade == "" && a.flusher.timer == nil && len(t.pick.Tried) == 0 {
		a.record.Released = true
		s.recycle(a)
	}
}

// giveUp answers for a failed endpoint; failed is nil where the failure has no cause to report.
func (s *Service) giveUp(a *attempt, failed *Error) {
	record, t := a.record, &a.state
	if failed == nil {
		panic(http.ErrAbortHandler)
	}
	record.Code, record.Reason = code(failed, t), failed.Error()
	if tries := len(t.pick.Tried) + 1; tries > 1 {
		record.Reason += "; " + strconv.Itoa(tries) + " tries"
	}
	if t.bar != "" {
		record.Reason += "; not tried again: " + t.bar
	}
	record.Excused = t.result.Outcome == loadbalancer.Abandoned
	switch {
	case failed.Phase == ResponseBegun:
		record.Broken = !record.Excused
		panic(http.ErrAbortHandler)
	case failed.Status == StatusClientClosedRequest || errors.Is(t.ended, context.Canceled):
		record.Status = StatusClientClosedRequest
	case t.ended != nil:
		answer(a.writer, a.request, record, http.StatusGatewayTimeout)
	default:
		answer(a.writer, a.request, record, failed.Status)
	}
}

// refuse answers a request for which no member could be acquired.
func (s *Service) refuse(a *attempt, err error) {
	record := a.record
	record.Code, record.Reason = telemetry.CodeNoEndpoint, err.Error()
	refusal, refused := errors.AsType[*loadbalancer.Refusal](err)
	switch {
	case !refused && errors.Is(err, context.Canceled):
		record.Code, record.Reason = telemetry.CodeClientLeft, errClientLeft.Error()
		record.Status = StatusClientClosedRequest
	case !refused && errors.Is(err, context.DeadlineExceeded):
		record.Code = telemetry.CodeTimeout
		answer(a.writer, a.request, record, http.StatusGatewayTimeout)
	default:
		if refused && refusal.Saturated {
			record.Code = telemetry.CodeSaturated
		}
		answer(a.writer, a.request, record, http.StatusServiceUnavailable)
	}
	s.recycle(a)
}

// answer writes an error response, to a call of gRPC in the form of gRPC.
func answer(w http.ResponseWriter, r *http.Request, record *telemetry.Record, status int) {
	record.Status = httpio.Error(w, r, status, http.StatusText(status))
}
