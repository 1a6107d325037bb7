// Package answer is how middlewares refuse a request.
//
// What flows in: the request, the middleware's name and the reason. What flows out: an answer that tells the client nothing beyond its
// status, and a reason in the request's telemetry record. It never logs by itself.
package answer

import (
	"net/http"

	"github.com/sluiceproxy/sluice/telemetry"
)

// BadRequest answers 400, and notes in the request's record which middleware refused it and why.
func BadRequest(w http.ResponseWriter, r *http.Request, middleware string, reason error) {
	telemetry.RecordFrom(r.Context()).Reason = "middleware " + middleware + ": " + reason.Error()
	http.Error(w, http.StatusText(http.StatusBadRequest), http.StatusBadRequest)
}
