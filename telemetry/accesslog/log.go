package accesslog

import (
	"context"
	"io"
	"net/http"

	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Options are what the access log needs beside its configuration.
type Options struct {
	// Logger is told once when lines begin to be dropped and once when that is over; nil is silent.
	Logger telemetry.Logger
	// Stdout takes the lines where accessLog.filePath is empty; nil is os.Stdout.
	Stdout io.Writer
	// Exporter sends lines to a collector. It is needed with accessLog.otlp and only then. The log shuts it down at the end of Run.
	Exporter sdklog.Exporter
	// Resource is what says who sends the lines; nil is the default of OpenTelemetry.
	Resource *resource.Resource
}

// Log is the access log. It is made by New, is filled by any number of requests at a time, and needs Run to write.
type Log struct{}

// New returns the log that the configuration asks for, with its file opened. The error names the option that is wrong.
func New(config static.AccessLog, options Options) (*Log, error) {
	_, _ = config, options
	return &Log{}, nil
}

// Wants returns what the records of requests must be set up with: ObserveAccess, and ObserveHeaders where headers are logged.
func (l *Log) Wants() telemetry.Observe { return telemetry.ObserveAccess }

// Began notes what is logged of a request before middlewares change it, in record.Captured and record.RequestID.
func (l *Log) Began(*telemetry.Record, *http.Request) {}

// Finished leaves the request's line for Run to write. It never blocks.
func (l *Log) Finished(*telemetry.Record) {}

// Run writes lines until ctx ends, and then what waits, for at most a second.
func (l *Log) Run(ctx context.Context) error { return ctx.Err() }

// Reopen has the file opened anew before the next line, so that who moved it away may have it.
func (l *Log) Reopen() {}

// Dropped returns how many lines were not written.
func (l *Log) Dropped() uint64 { return 0 }
