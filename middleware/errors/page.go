package errors

import (
	"bufio"
	"net"
	"net/http"

	"github.com/sluiceproxy/sluice/httpio/intercept"
	"github.com/sluiceproxy/sluice/telemetry"
)

// page is the writer of an error page, which is sent under another status than its own unless that is wanted.
type page struct {
	intercept.Writer
	status int
	// own says that the page keeps its status.
	own bool
	// kept are headers of the answer that is replaced, for a page without them.
	kept http.Header
	// headOnly says that the client's method is HEAD.
	headOnly bool
	record   *telemetry.Record
}

func newPage(w http.ResponseWriter, status int, headOnly bool, record *telemetry.Record) *page {
	p := &page{status: status, headOnly: headOnly, record: record}
	p.ResponseWriter, p.Decider = w, p
	return p
}

// Decide passes the page on under the status, or under its own. A record with a reason means that it is no page but an
// error of the proxy.
func (p *page) Decide(status int) (int, intercept.Decision) {
	if p.record.Reason != "" {
		return 0, intercept.Discard
	}
	header := p.ResponseWriter.Header()
	for name, values := range p.kept {
		if _, given := header[name]; !given {
			header[name] = values
		}
	}
	switch {
	case p.own:
		return status, intercept.Pass
	case withoutBody(p.status):
		delete(header, "Content-Length")
		return p.status, intercept.PassHead
	}
	return p.status, intercept.Pass
}

// Discards reports whether the rest need not be read. The server drops and counts the body of a response to HEAD.
func (p *page) Discards() bool {
	return p.Writer.Discards() || p.headOnly && p.Decision() == intercept.Pass
}

// Hijack is refused: the page's status is set by the middleware.
func (*page) Hijack() (net.Conn, *bufio.ReadWriter, error) { return nil, nil, http.ErrNotSupported }

// withoutBody reports whether a status allows no body (RFC 9110 sections 15.3.5 and 15.4.5).
func withoutBody(status int) bool {
	return status == http.StatusNoContent || status == http.StatusNotModified
}

// ReadsStatus implements httpio.StatusReader.
func (*page) ReadsStatus() {}
