package accesslog

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// encoder makes lines. It does not change but for its clock and its numbers.
type encoder struct {
	// common says that lines of a file are in the common format, and columns that they have Traefik's four columns more.
	common, columns bool
	query           mode
	headers         headerModes
	// members are the fields of JSON that are kept, with their keys as they are written; kept are the names of all that are kept.
	members []member
	kept    map[string]bool
	stamps  stamps
	ids     *ids
}

// member is a field with `,"name":` before it.
type member struct {
	key   string
	write func(e *encoder, b []byte, r *request) []byte
}

// newEncoder returns the encoder that the configuration asks for. unknown are the names of fields in it that do not exist.
func newEncoder(config static.AccessLog, location *time.Location) (made *encoder, unknown []string, err error) {
	e := &encoder{ids: newIDs(), kept: map[string]bool{}, stamps: stamps{location: location}}
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

func queryMode(config *static.FieldQuery) (mode, error) {
	if config == nil {
		return keep, nil
	}
	return parseMode("accessLog.fields.queryParameters.defaultMode", config.DefaultMode, keep, true)
}

// choose keeps the fields that are to be kept. Names are compared without regard to case.
func (e *encoder) choose(choice static.AccessLogFields) (unknown []string, err error) {
	fallback, err := parseMode("accessLog.fields.defaultMode", choice.DefaultMode, keep, false)
	if err != nil {
		return nil, err
	}
	named := map[string]mode{}
	exists := map[string]bool{}
	for _, field := range fields() {
		exists[strings.ToLower(field.name)] = true
	}
	for _, name := range slices.Sorted(maps.Keys(choice.Names)) {
		read, err := parseMode("accessLog.fields.names."+name, choice.Names[name], fallback, false)
		if err != nil {
			return nil, err
		}
		lower := strings.ToLower(name)
		if before, twice := named[lower]; twice {
			read = max(read, before)
		}
		named[lower] = read
		if !exists[lower] {
			unknown = append(unknown, name)
		}
	}
	for _, field := range fields() {
		chosen, ok := named[strings.ToLower(field.name)]
		if !ok {
			chosen = fallback
		}
		if chosen == keep {
			e.kept[field.name] = true
			e.members = append(e.members, member{`,"` + field.name + `":`, field.write})
		}
	}
	return unknown, nil
}

// about returns what the lines of a finished record are made of.
func (e *encoder) about(record *telemetry.Record, count uint64) request {
	r := request{record: record, start: e.stamps.of(record.Start), end: e.stamps.of(record.Start.Add(record.Duration)), count: count}
	if record.RequestID == "" {
		r.id = e.ids.next()
	}
	return r
}

// encode makes the line of a request. For a collector that is an object of JSON, whatever the format of a file.
func (e *encoder) encode(l *line, r request, collector bool) {
	l.at, l.trace, l.request = r.record.Start.Add(r.record.Duration), r.record.Trace, r
	if l.text = l.text[:0]; cap(l.text) == 0 {
		l.text = make([]byte, 0, lineRoom)
	}
	if collector || !e.common {
		l.text = e.appendObject(l.text, l)
	}
	if e.common {
		if collector {
			l.text = append(l.text, '\n')
		}
		l.text = e.appendCommon(l.text, &l.request)
	}
	if !collector {
		l.text = append(l.text, '\n')
	}
	l.request = request{}
}

// appendObject appends the request as an object of JSON.
func (e *encoder) appendObject(b []byte, l *line) []byte {
	r := &l.request
	b = append(b, `{"level":"info","msg":""`...)
	for i := range e.members {
		member := &e.members[i]
		before := len(b)
		b = append(b, member.key...)
		value := len(b)
		if b = member.write(e, b, r); len(b) == value {
			b = b[:before]
		}
	}
	if e.headers.any() {
		b = e.headers.appendHeaders(b, "downstream_", r.record.ResponseHeader, &l.names)
		b = e.headers.appendHeaders(b, "origin_", r.record.OriginHeader, &l.names)
		b = appendCaptured(b, r.record.Captured)
	}
	b = append(b, `,"time":`...)
	b = appendTime(b, r.end.local, r.end.zone, 0)
	return append(b, '}')
}

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
