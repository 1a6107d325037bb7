package telemetry

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// failureKind is the key by which failures are grouped.
type failureKind struct {
	code            Code
	router, service string
	class           int
	severity        failureSeverity
	// protocol is that of connections and sessions, tcp or udp; empty for requests.
	protocol string
	// overflow marks the group of a code beyond failureKinds, which has no router and service.
	overflow bool
}

// kindOf returns the kind of a failure.
func kindOf(record *Record) failureKind {
	kind := failureKind{
		code: record.Code, router: record.Router, service: record.Service, class: record.Status / 100,
		severity: severityOf(record),
	}
	if !record.IsRequest() {
		kind.protocol = record.Protocol
	}
	return kind
}

// withoutNames returns the overflow group of the kind: without router and service.
func (k failureKind) withoutNames() failureKind {
	return failureKind{code: k.code, class: k.class, severity: k.severity, protocol: k.protocol, overflow: true}
}

// noun is what has failed.
func (k failureKind) noun() string {
	switch k.protocol {
	case ProtocolTCP:
		return "TCP connection"
	case ProtocolUDP:
		return "UDP session"
	}
	return "request"
}

// failure is the part of a record that is logged. It holds no memory of the request, which is recycled.
type failure struct {
	kind                                               failureKind
	status, tries                                      int
	reason, method, host, path, client, entry, address string
	serverName                                         string
	duration                                           time.Duration
	generation                                         uint64
}

// failureText is the limit in bytes of a text that a client may choose.
const failureText = 512

// failureOf copies what is logged of a record.
func failureOf(record *Record, kind failureKind) failure {
	return failure{
		kind: kind, status: record.Status, tries: record.Tries, reason: bounded(record.Reason),
		method: bounded(record.Method), host: bounded(record.Host), path: bounded(record.Path),
		client: bounded(record.Client), entry: record.Entrypoint, address: record.Endpoint, duration: record.Duration,
		generation: record.Generation, serverName: bounded(record.ServerName),
	}
}

// bounded returns a copy of the text, cut at failureText bytes.
func bounded(text string) string { return strings.Clone(text[:min(len(text), failureText)]) }

// write writes the line of the first failure of a kind, without fields that are empty.
func (f failure) write(logger Logger) {
	var fields []any
	if f.kind.protocol == "" {
		fields = append(fields, "status", f.status)
	}
	fields = f.kind.fields(fields...)
	for _, field := range []struct{ key, value string }{
		{"reason", f.reason},
		{"method", f.method},
		{"host", f.host},
		{"path", f.path},
		{"serverName", f.serverName},
		{"client", f.client},
		{"entrypoint", f.entry},
		{"endpoint", f.address},
	} {
		if field.value != "" {
			fields = append(fields, field.key, field.value)
		}
	}
	fields = append(fields, "tries", f.tries, "duration", f.duration.Round(time.Microsecond).String(),
		"generation", f.generation)
	f.kind.severity.write(logger, f.kind.noun()+" failed", fields)
}

// write writes the line with the number of further failures of a kind.
func (k failureKind) write(logger Logger, count int64, during time.Duration) {
	message := "more " + k.noun() + "s failed"
	if k.overflow {
		message += ", of too many routers to list"
	}
	var fields []any
	if k.protocol == "" {
		fields = append(fields, "status", fmt.Sprintf("%dxx", k.class))
	}
	fields = append(fields, "count", count, "during", during.Round(time.Millisecond).String())
	k.severity.write(logger, message, k.fields(fields...))
}

// fields returns the keys and values of a line: those given, and what is known of the kind.
func (k failureKind) fields(keysAndValues ...any) []any {
	for _, field := range []struct{ key, value string }{
		{"code", string(k.code)},
		{"router", k.router},
		{"service", k.service},
	} {
		if field.value != "" {
			keysAndValues = append(keysAndValues, field.key, field.value)
		}
	}
	return keysAndValues
}

// failureSeverity selects the log level of a failure.
type failureSeverity uint8

const (
	failureMinor failureSeverity = iota
	failureNotable
	failureSerious
	failureOwn
)

// severityOf returns the severity of a record: a panic is a fault of Sluice, an error that the client caused is minor.
func severityOf(record *Record) failureSeverity {
	switch {
	case !record.IsRequest():
		return severityOfCode(record.Code)
	case record.Code == CodePanic:
		return failureOwn
	case record.Status == StatusClientClosedRequest, record.Code == CodeClientLeft, record.Code == CodeOverloaded:
		return failureNotable
	case record.Status >= http.StatusInternalServerError, record.Broken, record.Code == CodeBroken,
		record.Code == CodeTimeout,
		record.Code == CodeUnguarded:
		return failureSerious
	}
	return failureMinor
}

// severityOfCode returns the severity of a failed connection or session, which have no status.
func severityOfCode(code Code) failureSeverity {
	switch code {
	case CodePanic:
		return failureOwn
	case CodeClientLeft:
		return failureNotable
	case CodeNoEndpoint, CodeSaturated, CodeUnreachable, CodeBroken, CodeTimeout, CodeRouterDisabled:
		return failureSerious
	}
	return failureMinor
}

// write writes one line at the level that fits.
func (s failureSeverity) write(logger Logger, message string, fields []any) {
	switch s {
	case failureOwn:
		logger.Error(message, fields...)
	case failureSerious:
		logger.Warn(message, fields...)
	case failureNotable:
		logger.Info(message, fields...)
	default:
		logger.Debug(message, fields...)
	}
}
