package forward

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/loadbalancer/retry"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Options are the options of a service.
type Options struct {
	// Service is the service's qualified name.
	Service string
	// PassHostHeader sends the client's Host header instead of the server's own (passHostHeader).
	PassHostHeader bool
	// FlushInterval is as in Target (responseForwarding.flushInterval).
	FlushInterval time.Duration
	// Retry says when a request is tried again; nil means never. A policy in the context of a request goes before it
	// (retry.WithPolicy).
	Retry *retry.Policy
	// Series counts the requests that the service answers; nil counts none.
	Series *telemetry.Series
}

// Service answers requests with the endpoints of a pool.
type Service struct {
	pool    *loadbalancer.Pool
	options Options
	// exchanges holds those of which nobody keeps a part.
	exchanges sync.Pool
}

// NewService returns the handler of a service.
func NewService(pool *loadbalancer.Pool, options Options) *Service {
	return &Service{pool: pool, options: options}
}

// ServeHTTP forwards the request to the member that the pool picks, and to others as the policy for retries says: only while the client
// has seen nothing of a response, and only when it makes no difference to the endpoint, or nothing was sent. The client sees the
// response of the last try alone.
//
// It answers 503 when nobody may answer, 502 for an endpoint that can't be reached or breaks off, 504 for one that takes too long, and
// 400, 408 or 413 for a request body that can't be read; a client that left is recorded as 499. A response that breaks off after it has
// begun ends in a panic with http.ErrAbortHandler, which is how net/http lets a client see it.
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
	if record.Observe&measured != 0 {
		asked := time.Since(start)
		defer took(record, start, asked)
	}
	x := s.exchange(w, r, record, s.policyFor(r))
	x.trial.first = s.pool.Instant(start)
	x.trial.ask.Now = x.trial.first
	var err error
	if x.target.Member, err = s.pool.Acquire(&x.trial.ask); err != nil {
		s.refuse(x, err)
		return
	}
	for x != nil {
		x = s.step(x)
	}
}

// TellsTrace says that the service tells endpoints of the trace where the request's header does not (telemetry.Record.TraceApart).
func (*Service) TellsTrace() {}

// exchange returns an exchange of the request without a member.
func (s *Service) exchange(w http.ResponseWriter, r *http.Request, record *telemetry.Record, policy *retry.Policy) *exchange {
	x, recycled := s.exchanges.Get().(*exchange)
	if !recycled {
		x = new(exchange)
	}
	x.writer, x.request, x.record = w, r, record
	x.target = Target{PassHostHeader: s.options.PassHostHeader, FlushInterval: s.options.FlushInterval}
	x.trial.service, x.trial.policy = s, policy
	x.trial.ask.HTTP, x.trial.ask.Client = r, record.Client
	return x
}

// recycle keeps an exchange for another request. Nobody may keep a part of it.
func (s *Service) recycle(x *exchange) {
	clear(x.list[:cap(x.list)]) // Their text is a whole head.
	*x = exchange{inform: x.inform, list: x.list[:0]}
	s.exchanges.Put(x)
}

// step runs a try and returns the next, or nil when the request has been answered.
func (s *Service) step(x *exchange) *exchange {
	err := s.try(x)
	if err == nil {
		s.succeed(x)
		return nil
	}
	if x.trial.next != nil {
		return x.trial.next
	}
	failed, ok := errors.AsType[*Error](err)
	if ok {
		if next := s.afterFailure(x, failed); next != nil {
			return next
		}
	}
	if x.source != nil {
		x.source.release()
	}
	s.giveUp(x, failed)
	return nil
}

// succeed ends a request that got a whole response.
func (s *Service) succeed(x *exchange) {
	t := &x.trial
	if t.policy != nil && t.policy.Attempts > 0 && !t.policy.Status.Contains(t.result.Status) {
		s.pool.Budget().Succeeded(t.ask.Now)
	}
	if x.source != nil {
		x.source.release()
	}
	// Earlier tries may have left somebody behind who waits for the client.
	if x.settled() && len(t.ask.Tried) == 0 {
		x.record.Released = true
		s.recycle(x)
	}
}

// giveUp answers for an endpoint that could not; failed is nil for what is no fault of anybody's.
func (s *Service) giveUp(x *exchange, failed *Error) {
	record, t := x.record, &x.trial
	if failed == nil {
		panic(http.ErrAbortHandler)
	}
	record.Code, record.Reason = code(failed, t), failed.Error()
	if tries := len(t.ask.Tried) + 1; tries > 1 {
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
		answer(x.writer, record, http.StatusGatewayTimeout)
	default:
		answer(x.writer, record, failed.Status)
	}
}

// refuse answers a request that nobody gets.
func (s *Service) refuse(x *exchange, err error) {
	record := x.record
	record.Code, record.Reason = telemetry.CodeNoEndpoint, err.Error()
	refusal, refused := errors.AsType[*loadbalancer.Refusal](err)
	switch {
	case !refused && errors.Is(err, context.Canceled):
		record.Code, record.Reason = telemetry.CodeClientLeft, errClientLeft.Error()
		record.Status = StatusClientClosedRequest
	case !refused && errors.Is(err, context.DeadlineExceeded):
		record.Code = telemetry.CodeTimeout
		answer(x.writer, record, http.StatusGatewayTimeout)
	default:
		if refused && refusal.Saturated {
			record.Code = telemetry.CodeSaturated
		}
		answer(x.writer, record, http.StatusServiceUnavailable)
	}
	s.recycle(x)
}

// answer answers in the endpoint's place.
func answer(w http.ResponseWriter, record *telemetry.Record, status int) {
	record.Status = status
	header := w.Header()
	header.Set("Content-Type", "text/plain; charset=utf-8")
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, http.StatusText(status)) // a client that left is noticed by the server
}
