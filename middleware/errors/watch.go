package errorpages

import (
	"context"
	"errors"
	"maps"
	"net/http"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/telemetry"
)

// watch is the writer of an answer that may have to be replaced, with what the page needs to know of the request.
type watch struct {
	gate
	codes *dynamic.StatusCodes
	// status is that of an answer that is replaced.
	status int
	// before is the header as it was.
	before http.Header
	// received is the URL as it was when the request came here.
	received received
}

func newWatch(codes *dynamic.StatusCodes) *watch {
	w := &watch{codes: codes}
	w.gate.judge = w
	return w
}

// open begins an answer.
func (w *watch) open(writer http.ResponseWriter, r *http.Request) {
	w.writer = writer
	w.received = received{host: r.Host, path: r.URL.Path, rawPath: r.URL.RawPath, query: r.URL.RawQuery}
	if header := writer.Header(); len(header) > 0 {
		w.before = header.Clone()
	}
}

// reset makes the watch ready for another answer. Nobody may keep it.
func (w *watch) reset() {
	w.writer, w.scratch, w.before, w.received, w.status = nil, nil, nil, received{}, 0
	w.state.Store(int32(undecided))
	if w.drained.Load() > 0 {
		w.drained.Store(0)
	}
}

func (w *watch) judge(status int) (int, verdict) {
	if status >= http.StatusOK && w.codes.Contains(status) {
		w.status = status
		return status, discarded
	}
	return status, passes
}

// replaces reports whether the answer is to be replaced. A handler that has returned without an answer has answered 200, unless there is
// nobody to answer.
func (w *watch) replaces(r *http.Request) bool {
	if w.verdict() == undecided && w.codes.Contains(http.StatusOK) && !gone(r) {
		w.begin()
	}
	return w.verdict() == discarded
}

// gone tells whether the client has left, where nobody has answered: endpoints may answer with the status of the record.
func gone(r *http.Request) bool {
	return left(r) || telemetry.RecordFrom(r.Context()).Status == telemetry.StatusClientClosedRequest
}

func left(r *http.Request) bool { return errors.Is(r.Context().Err(), context.Canceled) }

// restore makes the header of the response what it was before the answer.
func (w *watch) restore() {
	header := w.writer.Header()
	clear(header)
	maps.Copy(header, w.before)
}
