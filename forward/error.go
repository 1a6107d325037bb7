package forward

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/sluiceproxy/sluice/forward/servertls"
	"github.com/sluiceproxy/sluice/http1/client"
	"github.com/sluiceproxy/sluice/http1/wire"
	http2 "github.com/sluiceproxy/sluice/http2/client"
	"github.com/sluiceproxy/sluice/httpio/descriptors"
	"github.com/sluiceproxy/sluice/httpio/replay"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/loadbalancer/retry"
)

// StatusClientClosedRequest is what is recorded for a client that left before the response began. It is never sent.
const StatusClientClosedRequest = 499

// Phase is how far an attempt got before it failed.
type Phase uint8

// The phases of an attempt.
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

// Error is a failed attempt.
type Error struct {
	// Phase is how far it got.
	Phase Phase
	// Status is the status for the client: StatusClientClosedRequest when the client has left, unused when
	// Phase is ResponseBegun.
	Status int
	// Err is the cause.
	Err error
	// stalled means that the endpoint gave up while the client owed a part of its request body.
	stalled bool
}

// Error returns the cause and the phase.
func (e *Error) Error() string { return e.Err.Error() + " (" + e.Phase.String() + ")" }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// condition returns what kind of failure it is for retry policies.
func (e *Error) condition() retry.Condition {
	if e.Status == http.StatusGatewayTimeout {
		return retry.OnTimeout
	}
	_, status := errors.AsType[statusError](e.Err)
	_, head := errors.AsType[*wire.Error](e.Err)
	if status || head || http2.Malformed(e.Err) {
		return retry.OnInvalidHeader
	}
	return retry.OnError
}

// statusError is a response with a status code that HTTP does not have.
type statusError int

// Error names the status.
func (e statusError) Error() string { return "endpoint: status " + strconv.Itoa(int(e)) }

var (
	errClientLeft  = errors.New("the client left")
	errRequestTime = errors.New("the time for the request is over")
	// errGaveWay ends an attempt whose response is discarded for a retry, which is ready.
	errGaveWay = errors.New("the response gave way to another try")
)

// stallTime is how long a client must have sent nothing of its body until it counts as stalled: the endpoint is not
// blamed then for closing the connection. The proxy waits for the client at most times of an upload, so that a shorter
// wait would excuse endpoints that crash.
const stallTime = time.Second

// failure maps the error of a round trip to an outcome for the endpoint and an answer for the client.
func (a *attempt) failure(phase Phase, err error) (loadbalancer.Outcome, *Error) {
	ctx := a.request.Context()
	if bodyErr := a.replayBody.Failure(); bodyErr != nil {
		status := replay.Status(bodyErr)
		if status == http.StatusBadRequest && ctx.Err() != nil {
			status = StatusClientClosedRequest
		}
		return loadbalancer.Abandoned, &Error{Phase: phase, Status: status, Err: &sideError{"request body", bodyErr}}
	}
	if unsent, ok := errors.AsType[*client.RequestBodyError](err); ok {
		return loadbalancer.Abandoned, &Error{Phase: phase, Status: http.StatusBadRequest, Err: &sideError{
			"request body",
			unsent.Err,
		}}
	}
	if refused, ok := errors.AsType[*client.RequestError](err); ok {
		return loadbalancer.Abandoned, &Error{Phase: phase, Status: http.StatusBadRequest, Err: &sideError{
			"request",
			refused.Err,
		}}
	}
	ended := ctx.Err()
	if !errors.Is(err, ended) {
		// Interrupting the client at the end of an attempt may end the context.
		ended = nil
	}
	switch ended {
	case context.Canceled:
		return loadbalancer.Abandoned, &Error{Phase: phase, Status: StatusClientClosedRequest, Err: errClientLeft}
	case context.DeadlineExceeded:
		outcome := loadbalancer.TimedOut
		if phase == ResponseBegun || !a.replayBody.Complete() {
			// The client may have used up the time, for its body or for the response.
			outcome = loadbalancer.Abandoned
		}
		return outcome, &Error{Phase: phase, Status: http.StatusGatewayTimeout, Err: errRequestTime}
	}
	if _, ok := errors.AsType[*servertls.IdentityError](err); ok || errors.Is(err, descriptors.ErrReserved) {
		// No connection was tried, so that the endpoint is not to blame.
		return loadbalancer.Abandoned, &Error{Phase: phase, Status: http.StatusServiceUnavailable, Err: err}
	}
	failed := &Error{Phase: phase, Status: http.StatusBadGateway, Err: &sideError{"endpoint", err}}
	outcome := loadbalancer.Broken
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		failed.Status, outcome = http.StatusGatewayTimeout, loadbalancer.TimedOut
	}
	// A request may have been taken back from a dead idle connection before this connect failed.
	operation, ok := errors.AsType[*net.OpError](err)
	switch {
	case phase == NothingSent || ok && operation.Op == "dial":
		outcome = loadbalancer.Unreachable
	case phase == RequestSent && a.replayBody.Waited() >= stallTime:
		// An endpoint may limit the time of an upload. A client that stalls its upload must not get it ejected.
		outcome, failed.stalled = loadbalancer.Abandoned, true
	}
	return outcome, failed
}

// sideError names the side of the proxy that failed.
type sideError struct {
	side string
	err  error
}

// Error returns the side and the cause.
func (e *sideError) Error() string { return e.side + ": " + e.err.Error() }

// Unwrap returns the cause.
func (e *sideError) Unwrap() error { return e.err }
