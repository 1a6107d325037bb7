package accesslog

import (
	"strconv"
	"strings"
)

// appendCommon appends the request in the common log format, without an end of line. A value that is
// dropped or unknown is a dash. Connections and sessions have columns of their own behind the time.
func (e *encoder) appendCommon(b []byte, r *request, start *stamp) []byte {
	b = e.column(b, keepClientHost, r.clientHost(), bare)
	b = append(b, " - "...)
	b = e.column(b, keepClientUsername, r.record.Username, bare)
	b = append(b, " ["...)
	switch {
	case e.fields&keepStartUTC != 0:
		b = append(b, start.common...)
	case e.fields&keepStartLocal != 0:
		b = append(b, start.commonLocal...)
	default:
		b = append(b, '-')
	}
	b = append(b, ']')
	if !r.record.IsRequest() {
		return e.appendCommonConnection(b, r)
	}
	b = append(b, ` "`...)
	b = e.column(b, keepRequestMethod, r.record.Method, word)
	b = append(b, ' ')
	if e.fields&keepRequestPath != 0 && r.record.Path != "" {
		b = r.appendTarget(b, e.query, appendWord)
	} else {
		b = append(b, '-')
	}
	b = append(b, ' ')
	b = e.column(b, keepRequestProtocol, r.record.Version, word)
	b = append(b, `" `...)
	b = e.whole(b, keepDownstreamStatus, int64(r.record.Status))
	b = append(b, ' ')
	b = e.whole(b, keepDownstreamContentSize, r.record.BytesSent)
	b = appendQuoted(append(b, ' '), r.header("Referer"))
	b = appendQuoted(append(b, ' '), r.header("User-Agent"))
	if !e.columns {
		return b
	}
	return e.appendColumns(append(b, ' '), r)
}

// appendColumns appends what Traefik has beyond the common log format.
func (e *encoder) appendColumns(b []byte, r *request) []byte {
	b = e.whole(b, keepRequestCount, int64(r.count))
	b = e.text(append(b, ' '), keepRouterName, r.record.Router)
	b = e.text(append(b, ' '), keepServiceURL, r.record.EndpointURL)
	return e.elapsed(append(b, ' '), r)
}

// elapsed appends the duration in milliseconds.
func (e *encoder) elapsed(b []byte, r *request) []byte {
	var elapsed int64
	if e.fields&keepDuration != 0 {
		elapsed = r.record.Duration.Milliseconds()
	}
	return append(strconv.AppendInt(b, elapsed, 10), "ms"...)
}

func (e *encoder) whole(b []byte, field fieldSet, value int64) []byte {
	if e.fields&field == 0 {
		return append(b, '-')
	}
	return strconv.AppendInt(b, value, 10)
}

func (e *encoder) column(b []byte, field fieldSet, value string, in place) []byte {
	if e.fields&field == 0 || value == "" {
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

func (e *encoder) text(b []byte, field fieldSet, value string) []byte {
	if e.fields&field == 0 {
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
