package errors

import (
	"context"
	"errors"
	"net/http"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/httpio/intercept"
	"github.com/sluiceproxy/sluice/telemetry"
)

// tracker is the writer of the original response, with the data of the request that the page needs.
type tracker struct {
	intercept.Writer
	codes *dynamic.StatusCodes
	// received is the URL as the middleware received it.
	received received
}

func newTracker(codes *dynamic.StatusCodes) *tracker {
	t := &tracker{codes: codes}
	t.Decider = t
	return t
}

// reset prepares the tracker for a response to w, or for none: nil. No reference to it may be left.
func (t *tracker) reset(w http.ResponseWriter, received received) {
	t.Reset(w)
	t.received = received
}

// Decide discards responses with a listed status.
func (t *tracker) Decide(status int) (int, intercept.Decision) {
	if status >= http.StatusOK && t.codes.Contains(status) {
		return status, intercept.Discard
	}
	return status, intercept.Pass
}

// replaces reports whether the response is to be replaced. A handler that has returned without a response has
// answered 200, unless the client has left.
func (t *tracker) replaces(r *http.Request) bool {
	if t.Decision() == intercept.Undecided && t.codes.Contains(http.StatusOK) && !gone(r) {
		t.Begin()
	}
	return t.Decision() == intercept.Discard
}

// gone reports whether the client has left: before a response begins, the record's status may be the only sign.
func gone(r *http.Request) bool {
	return left(r) || telemetry.RecordFrom(r.Context()).Status == telemetry.StatusClientClosedRequest
}

func left(r *http.Request) bool { return errors.Is(r.Context().Err(), context.Canceled) }

// ReadsStatus implements httpio.StatusReader.
func (*tracker) ReadsStatus() {}
