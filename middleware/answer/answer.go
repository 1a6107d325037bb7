// Package answer is how middlewares refuse a request.
//
// What flows in: the request, the middleware's name and the reason. What flows out: an answer that holds nothing
// beyond its status, and a reason in the request's telemetry record. It never logs by itself.
package answer

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"

	"github.com/sluiceproxy/sluice/telemetry"
)

// Refuse answers with a status and its standard text, and notes in the request's record which middleware refused it
// and why. Headers that the caller has set, such as Retry-After, are sent along.
func Refuse(w http.ResponseWriter, r *http.Request, status int, middleware, reason string) {
	Note(r, middleware, reason)
	text := http.StatusText(status)
	if text == "" {
		text = "Refused"
	}
	http.Error(w, text, status)
}

// BadRequest is Refuse with status 400.
func BadRequest(w http.ResponseWriter, r *http.Request, middleware string, reason error) {
	Refuse(w, r, http.StatusBadRequest, middleware, reason.Error())
}

// Note writes into the request's record which middleware answered and why, for one that writes the answer itself.
func Note(r *http.Request, middleware, reason string) {
	telemetry.RecordFrom(r.Context()).Reason = "middleware " + middleware + ": " + reason
}

// Leave ends a request whose context has ended before an event that the middleware waited for, such as "its turn": with
// 504 when the request's own deadline has passed, and without an answer, recorded as 499, when the client has left.
func Leave(w http.ResponseWriter, r *http.Request, middleware, event string) {
	if errors.Is(r.Context().Err(), context.DeadlineExceeded) {
		Refuse(w, r, http.StatusGatewayTimeout, middleware, "the time for the request was over before "+event)
		return
	}
	leave(r, middleware, "the client left before "+event)
}

func leave(r *http.Request, middleware, reason string) {
	Note(r, middleware, reason)
	telemetry.RecordFrom(r.Context()).Status = telemetry.StatusClientClosedRequest
}

// UnreadableBody ends a request whose body can't be read and returns the status: 413 for an [*http.MaxBytesError], 408
// and 504 for a deadline of the client or of the request, 400 for a malformed body, and 499, which is recorded and not
// sent, for a client that has left.
func UnreadableBody(w http.ResponseWriter, r *http.Request, middleware string, err error) int {
	reason := "reading the request's body: " + err.Error()
	status := bodyStatus(err)
	if status == http.StatusBadRequest && r.Context().Err() != nil {
		status = telemetry.StatusClientClosedRequest
	}
	if status == telemetry.StatusClientClosedRequest {
		leave(r, middleware, reason)
	} else {
		Refuse(w, r, status, middleware, reason)
	}
	return status
}

func bodyStatus(err error) int {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return http.StatusRequestEntityTooLarge
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return http.StatusGatewayTimeout
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() || errors.Is(err, os.ErrDeadlineExceeded) {
		return http.StatusRequestTimeout
	}
	if _, ok := errors.AsType[*net.OpError](err); ok || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, context.Canceled) {
		return telemetry.StatusClientClosedRequest
	}
	return http.StatusBadRequest
}
