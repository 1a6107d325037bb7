// Package answer writes the responses with which middlewares refuse requests. They contain only the status; the reason
// is in the request's telemetry record.
package answer

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/sluiceproxy/sluice/httpio/replay"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Refuse answers with a status and its standard text, and records the middleware and the reason. Headers that the
// caller has set, such as Retry-After, are sent.
func Refuse(w http.ResponseWriter, r *http.Request, status int, middleware, reason string) {
	Note(r, middleware, reason)
	text := http.StatusText(status)
	if text == "" {
		text = "Refused"
	}
	http.Error(w, text, status)
}

// Collector is a response writer that collects refusals, of which one is answered if no other middleware lets the
// request pass.
type Collector interface {
	// StandsFor says which status a response stands for that has another one.
	StandsFor(status int)
}

// StandsFor says which status the response that follows stands for, such as 401 for a redirect to a page for signing
// in.
func StandsFor(w http.ResponseWriter, status int) {
	if collector, ok := w.(Collector); ok {
		collector.StandsFor(status)
	}
}

// RefusalStatus returns the status of a limit's refusals, 400 to 599 as in nginx; 0 stands for 429. The error begins
// with the option.
func RefusalStatus(option string, status int) (int, error) {
	switch {
	case status == 0:
		return http.StatusTooManyRequests, nil
	case status < 400 || status > 599:
		return 0, fmt.Errorf("%s %d is not the status of an error, 400 to 599", option, status)
	}
	return status, nil
}

// BadRequest is Refuse with status 400.
func BadRequest(w http.ResponseWriter, r *http.Request, middleware string, reason error) {
	Refuse(w, r, http.StatusBadRequest, middleware, reason.Error())
}

// Note records the middleware and the reason, for a middleware that writes the response itself.
func Note(r *http.Request, middleware, reason string) {
	telemetry.RecordFrom(r.Context()).Reason = "middleware " + middleware + ": " + reason
}

// Leave ends a request whose context ended before the event that the middleware waited for, such as "its turn": with
// 504 after the request's own deadline, and without a response, recorded as 499, if the client has gone.
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

// UnreadableBody ends a request whose body cannot be read and returns the status: 413 for an [*http.MaxBytesError], 408
// and 504 for a deadline of the client or of the request, 400 for a malformed body, and 499, which is recorded and not
// sent, if the client has gone.
func UnreadableBody(w http.ResponseWriter, r *http.Request, middleware string, err error) int {
	reason := "reading the request's body: " + err.Error()
	status := replay.Status(err)
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
