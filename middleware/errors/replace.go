package errors

import (
	"net/http"
	"strconv"

	"github.com/sluiceproxy/sluice/httpio/intercept"
	"github.com/sluiceproxy/sluice/telemetry"
)

// replace writes an error page in place of a discarded response. The record keeps the failed service and
// endpoint.
func (e *ErrorPages) replace(w http.ResponseWriter, r *http.Request, tracker *tracker, body *keptBody) {
	tracker.Restore()
	record := telemetry.RecordFrom(r.Context())
	if left(r) {
		record.Status, record.Code, record.Reason = telemetry.StatusClientClosedRequest, telemetry.CodeClientLeft,
			"the client left"
		return
	}
	status := e.rewrites.of(tracker.Status)
	request, err := e.request(r, &tracker.received, body, tracker.Status, status)
	if err != nil {
		e.note(record, err.Error())
		e.without(w, status)
		return
	}
	if e.servePage(w, request, status, tracker, record) {
		e.replaced.Add(1)
		return
	}
	if gone(r) {
		return
	}
	tracker.Restore()
	e.without(w, status)
}

// servePage runs the error page service, and reports whether there was a page.
func (e *ErrorPages) servePage(w http.ResponseWriter, r *http.Request, status int, tracker *tracker,
	record *telemetry.Record,
) bool {
	failed := *record
	record.Code, record.Reason, record.Status = "", "", 0
	defer func() {
		reason := record.Reason
		record.Service, record.Endpoint, record.Tries, record.Reason = failed.Service, failed.Endpoint, failed.Tries,
			failed.Reason
		record.Code, record.EndpointURL, record.ServiceSeries = failed.Code, failed.EndpointURL, failed.ServiceSeries
		record.OriginStatus, record.OriginBytes, record.OriginHeader = failed.OriginStatus, failed.OriginBytes,
			failed.OriginHeader
		record.Released = record.Released && failed.Released
		if reason != "" {
			e.note(record, reason)
		}
	}()
	p := newPage(w, status, tracker.received.method == http.MethodHead, record)
	p.own, p.kept = e.pageStatus, tracker.kept
	p.Serve(e.service, p, r)
	if !gone(r) {
		p.Begin()
	}
	return p.Decision() == intercept.Pass || p.Decision() == intercept.PassHead
}

// note adds to the record why there is no page, or only a part of one.
func (e *ErrorPages) note(record *telemetry.Record, reason string) {
	if record.Reason != "" {
		record.Reason += "; "
	}
	record.Reason += "middleware " + e.name + ": no error page: " + reason
}

// without answers without a page: with the status and its text.
func (e *ErrorPages) without(w http.ResponseWriter, status int) {
	e.failed.Add(1)
	if withoutBody(status) {
		w.WriteHeader(status)
		return
	}
	text := http.StatusText(status)
	if text == "" {
		text = "Status " + strconv.Itoa(status)
	}
	http.Error(w, text, status)
}
