package errors

import (
	"context"
	"errors"
	"net/http"

	"github.com/sluiceproxy/sluice/httpio/intercept"
	"github.com/sluiceproxy/sluice/telemetry"
)

// tracker is the writer of the original response, with the data of the request that the page needs.
type tracker struct {
	intercept.Writer
	pages *ErrorPages
	// record is that of the request.
	record *telemetry.Record
	// kept are the headers that the client gets with the page.
	kept http.Header
	// received is the URL as the middleware received it.
	received received
}

func newTracker(pages *ErrorPages) *tracker {
	t := &tracker{pages: pages}
	t.Decider = t
	return t
}

// reset prepares the tracker for a response to w, or for none: nil. No reference to it may be left.
func (t *tracker) reset(w http.ResponseWriter, record *telemetry.Record, received received) {
	t.Reset(w)
	t.record, t.received, t.kept = record, received, nil
}

// Decide discards responses with a listed status, or with the option ownErrors those that no endpoint has given.
func (t *tracker) Decide(status int) (int, intercept.Decision) {
	if status < http.StatusOK || !t.pages.codes.Contains(status) || t.pages.own && t.record.OriginStatus == status {
		return status, intercept.Pass
	}
	for _, name := range t.pages.kept {
		if values := t.Header()[name]; len(values) > 0 {
			if t.kept == nil {
				t.kept = http.Header{}
			}
			t.kept[name] = values
		}
	}
	return status, intercept.Discard
}

// replaces reports whether the response is to be replaced. A handler that has returned without a response has
// answered 200, unless the client has left.
func (t *tracker) replaces(r *http.Request) bool {
	if t.Decision() == intercept.Undecided && t.pages.codes.Contains(http.StatusOK) && !gone(r) {
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
