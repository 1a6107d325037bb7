package accesslog

import (
	"fmt"
	"time"

	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// encoder makes lines. It does not change but for its clock and its numbers.
type encoder struct {
	// common is set for lines of a file in the common format, and columns for Traefik's four additional columns.
	common, columns bool
	query           mode
	headers         headerModes
	fields          fieldSet
	ciphers         map[uint16]string
	stamps          stamps
	ids             *ids
}

// newEncoder returns the encoder of the configuration. unknown are the names of fields in it that do not exist.
func newEncoder(config static.AccessLog, location *time.Location) (made *encoder, unknown []string, err error) {
	e := &encoder{ids: newIDs(), ciphers: ciphers(), stamps: stamps{location: location}}
	switch config.Format {
	case "", "common":
		e.common, e.columns = true, true
	case "genericCLF":
		e.common = true
	case "json":
	default:
		return nil, nil, fmt.Errorf("accessLog.format %q: not one of common, genericCLF, json", config.Format)
	}
	choice := static.AccessLogFields{}
	if config.Fields != nil {
		choice = *config.Fields
	}
	if e.query, err = queryMode(choice.QueryParameters); err != nil {
		return nil, nil, err
	}
	headers := static.FieldHeaders{}
	if choice.Headers != nil {
		headers = *choice.Headers
	}
	if e.headers, err = parseHeaderModes(headers.DefaultMode, headers.Names); err != nil {
		return nil, nil, err
	}
	unknown, err = e.choose(choice)
	return e, unknown, err
}

// about returns what the lines of a finished record are made of.
func (e *encoder) about(record *telemetry.Record, count uint64) request {
	r := request{record: record, count: count}
	if len(record.Captured) > 0 {
		r.forwarded = record.Captured[0]
	}
	if record.RequestID == "" && record.IsRequest() {
		r.id = e.ids.next()
	}
	return r
}

// appendLine appends the line that is to be made of a request. For a collector that is an object of JSON,
// whatever the format of a file.
func (e *encoder) appendLine(b []byte, l *line, collector bool) []byte {
	record := l.record
	end := record.Start.Add(record.Duration)
	l.at, l.trace = end, record.Trace
	start := e.stamps.of(record.Start)
	if collector || !e.common {
		b = e.appendObject(b, l, start, e.stamps.of(end))
	}
	if e.common {
		if collector {
			b = append(b, '\n')
		}
		b = e.appendCommon(b, &l.request, start)
	}
	if collector {
		return b
	}
	return append(b, '\n')
}

// encode makes a line at once, of a request that does not wait.
func (e *encoder) encode(l *line, r request, collector bool) {
	if l.text = l.text[:0]; cap(l.text) == 0 {
		l.text = make([]byte, 0, lineRoom)
	}
	l.request = r
	l.text = e.appendLine(l.text, l, collector)
	l.request = request{}
}

// appendObject appends the request, connection or session as an object of JSON.
func (e *encoder) appendObject(b []byte, l *line, start, end *stamp) []byte {
	r := &l.request
	b = append(b, `{"level":"info","msg":""`...)
	if r.record.IsRequest() {
		b = e.appendFields(b, r, start)
	} else {
		b = e.appendConnection(b, r, start)
	}
	if e.headers.any() {
		b = e.headers.appendHeaders(b, "downstream_", r.record.ResponseHeader, &l.names)
		b = e.headers.appendHeaders(b, "origin_", r.record.OriginHeader, &l.names)
		b = appendCaptured(b, r.record.Captured)
	}
	b = append(b, `,"time":`...)
	b = appendTime(b, end.local, end.zone, &fraction{})
	return append(b, '}')
}
