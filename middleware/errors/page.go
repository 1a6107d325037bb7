package errorpages

import (
	"bufio"
	"net"
	"net/http"

	"github.com/sluiceproxy/sluice/telemetry"
)

// page is the response writer of an error page, which is sent under another status than its own.
type page struct {
	interceptor
	status int
	// headOnly says that the client's method is HEAD.
	headOnly bool
	record   *telemetry.Record
}

func newPage(w http.ResponseWriter, status int, headOnly bool, record *telemetry.Record) *page {
	p := &page{status: status, headOnly: headOnly, record: record}
	p.writer, p.interceptor.matcher = w, p
	return p
}

// match passes the page on under the status. A record with a reason means that it is no page but an error of
// the proxy.
func (p *page) match(int) (int, decision) {
	switch {
	case p.record.Reason != "":
		return 0, discarded
	case withoutBody(p.status):
		delete(p.writer.Header(), "Content-Length")
		return p.status, bodiless
	}
	return p.status, passes
}

// Discards reports whether the rest need not be read. The server drops and counts the body of a response to
// HEAD.
func (p *page) Discards() bool {
	return p.interceptor.Discards() || p.headOnly && p.decision() == passes
}

// Hijack is refused: the page's status is set by the middleware.
func (*page) Hijack() (net.Conn, *bufio.ReadWriter, error) { return nil, nil, http.ErrNotSupported }

// withoutBody reports whether a status allows no body (RFC 9110 sections 15.3.5 and 15.4.5).
func withoutBody(status int) bool {
	return status == http.StatusNoContent || status == http.StatusNotModified
}
