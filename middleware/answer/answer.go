// Package answer is how middlewares refuse a request.
//
// What flows in: the request, the middleware's name and the reason. What flows out: an answer that holds nothing
// beyond its status, and a reason in the request's telemetry record. It never logs by itself.
package answer

import (
	"net/http"

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
