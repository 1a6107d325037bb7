package accesslog

import (
	"strconv"
	"strings"
)

// appendCommon appends the request in the common log format, without an end of line. What is not kept, or is not known, is a dash.
func (e *encoder) appendCommon(b []byte, r *request) []byte {
	b = e.column(b, "ClientHost", r.clientHost(), bare)
	b = append(b, " - "...)
	b = e.column(b, "ClientUsername", r.record.Username, bare)
	b = append(b, " ["...)
	switch {
	case e.kept["StartUTC"]:
		b = append(b, r.start.common...)
	case e.kept["StartLocal"]:
		b = append(b, r.start.commonLocal...)
	default:
		b = append(b, '-')
	}
	b = append(b, `] "`...)
	b = e.column(b, "RequestMethod", r.record.Method, word)
	b = append(b, ' ')
	if e.kept["RequestPath"] && r.record.Path != "" {
		b = r.appendTarget(b, e.query, appendWord)
	} else {
		b = append(b, '-')
	}
	b = append(b, ' ')
	b = e.column(b, "RequestProtocol", r.record.Version, word)
	b = append(b, `" `...)
	b = e.whole(b, "DownstreamStatus", int64(r.record.Status))
	b = append(b, ' ')
	b = e.whole(b, "DownstreamContentSize", r.record.BytesSent)
	b = appendQuoted(append(b, ' '), r.header("Referer"))
	b = appendQuoted(append(b, ' '), r.header("User-Agent"))
	if !e.columns {
		return b
	}
	return e.appendColumns(append(b, ' '), r)
}

// appendColumns appends what Traefik has beyond the common log format.
func (e *encoder) appendColumns(b []byte, r *request) []byte {
	b = e.whole(b, "RequestCount", int64(r.count))
	b = e.text(append(b, ' '), "RouterName", r.record.Router)
	b = e.text(append(b, ' '), "ServiceURL", r.record.EndpointURL)
	b = append(b, ' ')
	var elapsed int64
	if e.kept["Duration"] {
		elapsed = r.record.Duration.Milliseconds()
	}
	return append(strconv.AppendInt(b, elapsed, 10), "ms"...)
}

func (e *encoder) whole(b []byte, name string, value int64) []byte {
	if !e.kept[name] {
		return append(b, '-')
	}
	return strconv.AppendInt(b, value, 10)
}

func (e *encoder) column(b []byte, name, value string, in place) []byte {
	if !e.kept[name] || value == "" {
		return append(b, '-')
	}
	// A list of addresses stays one column: the space behind a comma is left out.
	for {
		first, rest, more := strings.Cut(value, ", ")
		b = appendColumn(b, first, in)
		if !more {
			return b
		}
		b = append(b, ',')
		value = rest
	}
}

func (e *encoder) text(b []byte, name, value string) []byte {
	if !e.kept[name] {
		value = ""
	}
	return appendQuoted(b, value)
}

func appendQuoted(b []byte, value string) []byte {
	b = append(b, '"')
	b = appendColumn(b, orDash(value), quoted)
	return append(b, '"')
}

func appendWord(b []byte, value string) []byte { return appendColumn(b, value, word) }
