package errorpages

import (
	"bufio"
	"net"
	"net/http"

	"github.com/sluiceproxy/sluice/telemetry"
)

// page is the writer of a page, which is sent under a status that is not its own.
type page struct {
	gate
	status int
	// headOnly says that the client has asked for no more than the head.
	headOnly bool
	record   *telemetry.Record
}

func newPage(w http.ResponseWriter, status int, headOnly bool, record *telemetry.Record) *page {
	p := &page{status: status, headOnly: headOnly, record: record}
	p.writer, p.gate.judge = w, p
	return p
}

// judge passes the page on under the status. A record with a reason says that it is no page, but what Sluice answers where there is none
// to be had.
func (p *page) judge(int) (int, verdict) {
	switch {
	case p.record.Reason != "":
		return 0, discarded
	case withoutBody(p.status):
		delete(p.writer.Header(), "Content-Length")
		return p.status, bodiless
	}
	return p.status, passes
}

// Discards reports whether the rest need not be waited for. The server takes what follows the head of an answer to HEAD, and counts it.
func (p *page) Discards() bool {
	return p.gate.Discards() || p.headOnly && p.verdict() == passes
}

// Hijack is refused: a page has the status that the middleware gives it.
func (*page) Hijack() (net.Conn, *bufio.ReadWriter, error) { return nil, nil, http.ErrNotSupported }

// withoutBody tells whether a response of a status has no body (RFC 9110 sections 15.3.5 and 15.4.5).
func withoutBody(status int) bool {
	return status == http.StatusNoContent || status == http.StatusNotModified
}
