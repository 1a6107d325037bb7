package accesslog

import (
	"strconv"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/telemetry"
)

// line is what waits to be written. Its memory is used for one request after the other.
type line struct {
	// text is the line, with the end of line where it is for a file. For a collector it is an object of JSON,
	// and after an end of line the line in another format. It is empty as long as the line is still to be made
	// of the request.
	text []byte
	// at is when the request was over; it and trace are for a collector.
	at    time.Time
	trace telemetry.TraceContext
	// names is memory to sort the names of headers in.
	names []string
	// kept is the record of a request that the line is still to be made of.
	kept telemetry.Record
	request
}

// keep copies the record, without what belongs to the request, so that the writer can make the line later.
func (l *line) keep(r request) {
	l.text, l.kept, l.request = l.text[:0], *r.record, r
	l.record = &l.kept
	l.kept.RequestHeader, l.kept.ResponseHeader, l.kept.OriginHeader, l.kept.Captured = nil, nil, nil, nil
	l.kept.Span, l.kept.RouterSeries, l.kept.ServiceSeries = nil, nil, nil
}

// forget clears all of the request but the text, so that its memory can be collected.
func (l *line) forget() { l.kept, l.request = telemetry.Record{}, request{} }

// request is what a line is made of. It is emptied when the line is made.
type request struct {
	record *telemetry.Record
	// forwarded is the X-Forwarded-For that the request came with, or empty.
	forwarded string
	// count is the number of the request, and id that of its id, where the record has none.
	count, id uint64
}

// clientHost returns the address that the client is said to have, or that of the peer.
func (r *request) clientHost() string {
	if r.forwarded != "" {
		return r.forwarded
	}
	return r.record.Client
}

// header returns what was captured of a header.
func (r *request) header(name string) string {
	captured := r.record.Captured
	for i := capturedHeaders; i+1 < len(captured); i += 2 {
		if captured[i] == name {
			return captured[i+1]
		}
	}
	return ""
}

// appendTarget appends path and query as the client sent them, escaped by appendText or appendColumn.
func (r *request) appendTarget(b []byte, query mode, escape func([]byte, string) []byte) []byte {
	b = escape(b, r.record.Path)
	if r.record.Query == "" || query == drop {
		return b
	}
	b = append(b, '?')
	if query == keep {
		return escape(b, r.record.Query)
	}
	for rest, more := r.record.Query, true; more; {
		var parameter string
		parameter, rest, more = strings.Cut(rest, "&")
		name, _, valued := strings.Cut(parameter, "=")
		b = escape(b, name)
		if valued {
			b = append(b, '=')
			b = append(b, redacted...)
		}
		if more {
			b = append(b, '&')
		}
	}
	return b
}

// splitHost splits host and port of an authority. The port is "-" where there is none, and what cannot be split
// is the host. Nothing of a request without one is known.
func splitHost(authority string) (host, port string) {
	colon := strings.LastIndexByte(authority, ':')
	switch {
	case authority == "":
		return "", ""
	case colon < 0:
		return authority, "-"
	}
	host, port = authority[:colon], authority[colon+1:]
	if len(host) > 2 && host[0] == '[' && host[len(host)-1] == ']' {
		return host[1 : len(host)-1], port
	}
	for i := range len(authority) {
		if c := authority[i]; c == '[' || c == ']' || c == ':' && i != colon {
			return authority, "-"
		}
	}
	return host, port
}

// appendAddress appends address and port as they are written together.
func appendAddress(b []byte, host, port string) []byte {
	bracketed := strings.IndexByte(host, ':') >= 0
	if bracketed {
		b = append(b, '[')
	}
	b = appendText(b, host)
	if bracketed {
		b = append(b, ']')
	}
	if port != "" {
		b = append(b, ':')
		b = appendText(b, port)
	}
	return b
}

// appendRatio appends how much smaller a response became on its way through, as encoding/json has a number.
func appendRatio(b []byte, origin, sent int64) []byte {
	format := byte('f')
	ratio := float64(origin) / float64(sent)
	if ratio < 1e-6 {
		format = 'e'
	}
	return strconv.AppendFloat(b, ratio, format, -1, 64)
}
