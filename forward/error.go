package forward

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"

	"github.com/sluiceproxy/sluice/http1"
	"github.com/sluiceproxy/sluice/loadbalancer"
)

// StatusClientClosedRequest is what is recorded for a client that left before the response began. It is never sent.
const StatusClientClosedRequest = 499

// Phase is how far an exchange got before it failed.
type Phase uint8

// The phases of an exchange.
const (
	// NothingSent means that the endpoint saw no byte of the request: another one may be tried whatever the method.
	NothingSent Phase = iota
	// RequestSent means that the endpoint may have seen the request, and the client has seen nothing.
	RequestSent
	// ResponseBegun means that the client may have seen part of the response, which can't be completed.
	ResponseBegun
)

// String returns the phase in words, for logs.
func (p Phase) String() string {
	switch p {
	case NothingSent:
		return "nothing sent"
	case RequestSent:
		return "request sent"
	case ResponseBegun:
		return "response begun"
	}
	return "unknown"
}

// Error is a failed exchange.
type Error struct {
	// Phase is how far it got.
	Phase Phase
	// Status is the answer that is due to the client: StatusClientClosedRequest when there is nobody to answer, and of no
	// use when Phase is ResponseBegun.
	Status int
	// Err is the cause.
	Err error
}

// Error returns the cause and how far the exchange got.
func (e *Error) Error() string { return e.Err.Error() + " (" + e.Phase.String() + ")" }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

var (
	errClientLeft  = errors.New("the client left")
	errRequestTime = errors.New("the time for the request is over")
	// errGaveWay is the end of a try whose response was worth another try, which is ready.
	errGaveWay = errors.New("the response gave way to another try")
)

// failure says what a failed round trip means for the client and for the endpoint's record.
func (x *exchange) failure(phase Phase, err error) (loadbalancer.Outcome, *Error) {
	ctx := x.request.Context()
	if bodyErr := x.source.failed(); bodyErr != nil {
		status := bodyStatus(bodyErr)
		if status == http.StatusBadRequest && ctx.Err() != nil {
			status = StatusClientClosedRequest
		}
		return loadbalancer.Abandoned, &Error{Phase: phase, Status: status, Err: &sideError{"request body", bodyErr}}
	}
	if unsent, ok := errors.AsType[*http1.RequestBodyError](err); ok {
		return loadbalancer.Abandoned, &Error{Phase: phase, Status: http.StatusBadRequest, Err: &sideError{"request body", unsent.Err}}
	}
	if refused, ok := errors.AsType[*http1.RequestError](err); ok {
		return loadbalancer.Abandoned, &Error{Phase: phase, Status: http.StatusBadRequest, Err: &sideError{"request", refused.Err}}
	}
	ended := ctx.Err()
	if x.direct() && !errors.Is(err, ended) {
		// The end of an exchange may end the context, when the client is interrupted.
		ended = nil
	}
	switch ended {
	case context.Canceled:
		return loadbalancer.Abandoned, &Error{Phase: phase, Status: StatusClientClosedRequest, Err: errClientLeft}
	case context.DeadlineExceeded:
		outcome := loadbalancer.TimedOut
		if phase == ResponseBegun || !x.source.whole() {
			// The client may have taken all of the time, for its body or for the response.
			outcome = loadbalancer.Abandoned
		}
		return outcome, &Error{Phase: phase, Status: http.StatusGatewayTimeout, Err: errRequestTime}
	}
	failed := &Error{Phase: phase, Status: http.StatusBadGateway, Err: &sideError{"endpoint", err}}
	outcome := loadbalancer.Broken
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		failed.Status, outcome = http.StatusGatewayTimeout, loadbalancer.TimedOut
	}
	// A request may have been taken back from a dead idle connection before this connect failed.
	if operation, ok := errors.AsType[*net.OpError](err); phase == NothingSent || ok && operation.Op == "dial" {
		outcome = loadbalancer.Unreachable
	}
	return outcome, failed
}

// bodyStatus returns the answer to a request whose body can't be read.
func bodyStatus(err error) int {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return http.StatusRequestEntityTooLarge
	}
	if errors.Is(err, context.DeadlineExceeded) {
		// It is the time for the whole request that is over, which a middleware sets.
		return http.StatusGatewayTimeout
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() || errors.Is(err, os.ErrDeadlineExceeded) {
		return http.StatusRequestTimeout
	}
	if _, ok := errors.AsType[*net.OpError](err); ok || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.Canceled) {
		return StatusClientClosedRequest
	}
	return http.StatusBadRequest
}

// sideError says on which side of the proxy something failed.
type sideError struct {
	side string
	err  error
}

// Error returns the side and the cause.
func (e *sideError) Error() string { return e.side + ": " + e.err.Error() }

// Unwrap returns the cause.
func (e *sideError) Unwrap() error { return e.err }
