package telemetry

import (
	"context"
	"time"
)

// Record is what is known about one request. The exchange owns it: stages on the request's goroutine fill it in, and it
// is read once, after the handler has returned.
type Record struct {
	// Start is when the request's head had been read.
	Start time.Time
	// Method, Host, Path and Client are the request's, after canonicalisation; Protocol is http, websocket or sse.
	Method   string
	Host     string
	Path     string
	Client   string
	Protocol string
	// Entrypoint, Router, Service and Endpoint are names (Endpoint is an address); empty where it did not get so far.
	Entrypoint string
	Router     string
	Service    string
	Endpoint   string
	// Username is who the client says it is, by the credentials that it sent; it was believed where the request was not refused. At most
	// 255 bytes, and empty where no middleware asked.
	Username string
	// Status is the status code sent to the client; 499 when the client left before the response began.
	Status int
	// BytesSent counts the response body's bytes.
	BytesSent int64
	// Duration is how long the handler ran; set when the record is finished.
	Duration time.Duration
	// Tries counts attempts to reach an endpoint.
	Tries int
	// Reason says why Sluice itself answered or gave up; for the log only, never for the client.
	Reason string
	// Released says that the service which answered kept no part of the request or of its writer.
	Released bool
	// Broken says that the endpoint did not complete a response that had begun.
	Broken bool
	// Excused says that Sluice gave up for what is no fault of the endpoint: the client left, or owed a part of its request for too long.
	Excused bool
	// Generation is the configuration generation that answered.
	Generation uint64
}

type recordKey struct{}

// WithRecord returns a context that carries the record.
func WithRecord(ctx context.Context, record *Record) context.Context {
	return context.WithValue(ctx, recordKey{}, record)
}

// RecordKey is the context key of a *Record, for contexts that answer Value themselves without a wrapping context.
func RecordKey() any { return recordKey{} }

// RecordFrom returns the request's record; a request without one gets a fresh record that nobody reads, so that callers
// need not ask.
func RecordFrom(ctx context.Context) *Record {
	if record, ok := ctx.Value(recordKey{}).(*Record); ok {
		return record
	}
	return &Record{}
}
