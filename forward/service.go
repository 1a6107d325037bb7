package forward

import (
	"errors"
	"io"
	"net/http"
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
	// Retry says when a request is tried again; nil means never.
	Retry *retry.Policy
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

// ServeHTTP forwards the request to the member whose turn it is. It answers 503 when nobody may answer, 502 for an
// endpoint that can't be reached or breaks off, 504 for one that takes too long, and 400, 408 or 413 for a request body
// that can't be read; a client that left is recorded as 499. A response that breaks off after it has begun ends in a panic
// with http.ErrAbortHandler, which is how net/http lets a client see it.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	record := telemetry.RecordFrom(r.Context())
	record.Service = s.options.Service
	member, err := s.pool.Acquire(&loadbalancer.Request{})
	if err != nil {
		record.Reason = err.Error()
		answer(w, record, http.StatusServiceUnavailable)
		return
	}
	record.Endpoint = member.Address()
	record.Tries++
	err = s.forward(w, r, member, record)
	if err == nil {
		return
	}
	record.Reason = err.Error()
	failed, ok := errors.AsType[*Error](err)
	switch {
	case !ok || failed.Phase == ResponseBegun:
		panic(http.ErrAbortHandler)
	case failed.Status == StatusClientClosedRequest:
		record.Status = StatusClientClosedRequest
	default:
		answer(w, record, failed.Status)
	}
}

func (s *Service) forward(w http.ResponseWriter, r *http.Request, member *loadbalancer.Member, record *telemetry.Record) error {
	target := Target{Member: member, PassHostHeader: s.options.PassHostHeader, FlushInterval: s.options.FlushInterval}
	// A middleware's writer may panic in the middle of the response, which says nothing about the endpoint.
	outcome := loadbalancer.Abandoned
	defer func() { member.Done(loadbalancer.Result{Outcome: outcome}) }()
	x, recycled := s.exchanges.Get().(*exchange)
	if !recycled {
		x = new(exchange)
	}
	x.writer, x.request, x.target, x.record = w, r, target, record
	var err error
	outcome, err = x.serve()
	if err == nil && x.settled() {
		record.Released = true
		clear(x.list[:cap(x.list)]) // Their text is a whole head.
		*x = exchange{inform: x.inform, list: x.list[:0]}
		s.exchanges.Put(x)
	}
	return err
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
