package errorpages

import (
	"context"
	"errors"
	"maps"
	"net/http"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/telemetry"
)

// tracker is the interceptor of the original response, with the data of the request that the page needs.
type tracker struct {
	interceptor
	codes *dynamic.StatusCodes
	// status is the status of a discarded response.
	status int
	// before is the header before the handler ran.
	before http.Header
	// received is the URL as the middleware received it.
	received received
}

func newTracker(codes *dynamic.StatusCodes) *tracker {
	t := &tracker{codes: codes}
	t.interceptor.matcher = t
	return t
}

// open prepares the tracker for a response.
func (t *tracker) open(writer http.ResponseWriter, r *http.Request) {
	t.writer = writer
	t.received = received{host: r.Host, path: r.URL.Path, rawPath: r.URL.RawPath, query: r.URL.RawQuery}
	if header := writer.Header(); len(header) > 0 {
		t.before = header.Clone()
	}
}

// reset clears the tracker for another response. No reference to it may be left.
func (t *tracker) reset() {
	t.writer, t.scratch, t.before, t.received, t.status = nil, nil, nil, received{}, 0
	t.state.Store(int32(undecided))
	if t.drained.Load() > 0 {
		t.drained.Store(0)
	}
}

func (t *tracker) match(status int) (int, decision) {
	if status >= http.StatusOK && t.codes.Contains(status) {
		t.status = status
		return status, discarded
	}
	return status, passes
}

// replaces reports whether the response is to be replaced. A handler that has returned without a response has
// answered 200, unless the client has left.
func (t *tracker) replaces(r *http.Request) bool {
	if t.decision() == undecided && t.codes.Contains(http.StatusOK) && !gone(r) {
		t.begin()
	}
	return t.decision() == discarded
}

// gone reports whether the client has left: before a response begins, the record's status may be the only sign.
func gone(r *http.Request) bool {
	return left(r) || telemetry.RecordFrom(r.Context()).Status == telemetry.StatusClientClosedRequest
}

func left(r *http.Request) bool { return errors.Is(r.Context().Err(), context.Canceled) }

// restore sets the response's header to what it was before the handler ran.
func (t *tracker) restore() {
	header := t.writer.Header()
	clear(header)
	maps.Copy(header, t.before)
}
