package accesslog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// defaultLines is how many lines wait for a slow file when accessLog.bufferingSize is 0.
const defaultLines = 65_536

// Options are what the access log needs beside its configuration.
type Options struct {
	// Logger gets one line when lines begin to be dropped and one when that is over; nil disables them.
	Logger telemetry.Logger
	// Stdout takes the lines where accessLog.filePath is empty; nil is os.Stdout.
	Stdout io.Writer
	// Exporter sends lines to a collector. It is needed with accessLog.otlp and only then. The log shuts it
	// down at the end of Run.
	Exporter sdklog.Exporter
	// Resource describes the sender of the lines to a collector; nil is the default of OpenTelemetry.
	Resource *resource.Resource
	// Location is the zone of StartLocal and time; nil is that of the system.
	Location *time.Location
}

// Log is the access log. It is made by New, is filled by any number of requests at a time, and needs Run to write.
type Log struct {
	encoder *encoder
	filter  filter
	// internals enables lines of requests to Sluice's own services, forwards adds the id of a request for endpoints.
	internals, forwards bool
	outputs             []*output
	requests            atomic.Uint64
	captures            sync.Pool
}

// captureSize is how many texts are captured of a request without memory of its own: enough for X-Forwarded-For
// and 15 headers.
const captureSize = 31

// New returns the log of the configuration, with its file opened. The error names the option that is wrong.
func New(config static.AccessLog, options Options) (*Log, error) {
	if options.Logger == nil {
		options.Logger = telemetry.Discard{}
	}
	if config.BufferingSize < 0 {
		return nil, fmt.Errorf("accessLog.bufferingSize %d: is negative", config.BufferingSize)
	}
	if config.OTLP != nil && options.Exporter == nil {
		return nil, errors.New("accessLog.otlp: there is no exporter")
	}
	if options.Location == nil {
		options.Location = time.Local
	}
	filter, err := parseFilter(config.Filters)
	if err != nil {
		return nil, err
	}
	encoder, unknown, err := newEncoder(config, options.Location)
	if err != nil {
		return nil, err
	}
	if len(unknown) > 0 {
		options.Logger.Warn("accessLog.fields.names: there are no such fields", "fields", strings.Join(unknown, ", "))
	}
	l := &Log{
		encoder: encoder, filter: filter, internals: config.AddInternals, forwards: config.ForwardRequestID,
		captures: sync.Pool{New: func() any { return new([captureSize]string) }},
	}
	lines := cmp.Or(config.BufferingSize, defaultLines)
	if config.OTLP == nil || config.DualOutput {
		sink, err := openSink(config.FilePath, options.Stdout)
		if err != nil {
			return nil, err
		}
		l.outputs = append(l.outputs, newOutput(sink, encoder, lines, options.Logger))
	}
	if config.OTLP != nil {
		l.outputs = append(l.outputs,
			newOutput(newCollector(options.Exporter, options.Resource), encoder, lines, options.Logger))
	}
	return l, nil
}

// Observes returns what the records of requests must be set up with: ObserveAccess, and ObserveHeaders where
// headers are logged.
func (l *Log) Observes() telemetry.Observe {
	if l.encoder.headers.any() && (!l.encoder.common || l.collects()) {
		return telemetry.ObserveAccess | telemetry.ObserveHeaders
	}
	return telemetry.ObserveAccess
}

// collects reports whether lines are sent to a collector.
func (l *Log) collects() bool {
	for _, output := range l.outputs {
		if output.collector {
			return true
		}
	}
	return false
}

// Began notes what is logged of a request before middlewares change it, in record.Captured and record.RequestID. With
// accessLog.forwardRequestID it gives a request without a usable X-Request-Id one, which endpoints receive.
func (l *Log) Began(record *telemetry.Record, r *http.Request) {
	record.RequestID = sentID(r.Header)
	if l.forwards && record.RequestID == "" {
		record.RequestID = string(l.encoder.ids.appendID(make([]byte, 0, 33), l.encoder.ids.next()))
		r.Header[requestIDHeader] = []string{record.RequestID}
	}
	forwarded := r.Header["X-Forwarded-For"]
	if len(forwarded) == 0 && !l.encoder.headers.any() {
		return
	}
	captured := append(l.captures.Get().(*[captureSize]string)[:0], "")
	if len(forwarded) > 0 {
		captured[0] = forwarded[0]
	}
	record.Captured = l.encoder.headers.capture(captured, r.Header)
}

// Finished leaves the line of a request, connection or session for Run to write. It never blocks. What Began noted is
// gone afterwards.
func (l *Log) Finished(record *telemetry.Record) {
	if record.Observe.Has(telemetry.ObserveAccess) && (l.internals || !strings.HasSuffix(record.Service, "@internal")) {
		count := uint64(0)
		if record.IsRequest() {
			count = l.requests.Add(1)
		}
		if l.filter.keeps(record) {
			l.leave(l.encoder.about(record, count))
		}
	}
	captured := record.Captured
	record.Captured = nil
	if cap(captured) == captureSize {
		array := (*[captureSize]string)(captured[:captureSize])
		clear(array[:])
		l.captures.Put(array)
	}
}

func (l *Log) leave(r request) {
	for _, output := range l.outputs {
		output.leave(r)
	}
}

// Run writes lines until ctx ends, and then what waits, for at most a second. The error has the number of lines
// that could not be written in that time. It is called once; afterwards the log writes nothing.
func (l *Log) Run(ctx context.Context) error {
	var group sync.WaitGroup
	failures := make([]error, len(l.outputs))
	for i, output := range l.outputs {
		group.Go(func() { failures[i] = output.run(ctx) })
	}
	group.Wait()
	return errors.Join(failures...)
}

// Reopen has the file opened anew, after it has been moved away. It returns at once; lines that wait
// go to the old file or the new one. Without accessLog.filePath there is nothing to do.
func (l *Log) Reopen() {
	for _, output := range l.outputs {
		signal(output.reopened)
	}
}

// Dropped returns how many lines were not written, to the file and to the collector together.
func (l *Log) Dropped() uint64 {
	var dropped uint64
	for _, output := range l.outputs {
		dropped += output.dropped.Load()
	}
	return dropped
}

// stdout returns the writer that takes lines without a file.
func stdout(given io.Writer) io.Writer {
	if given == nil {
		return os.Stdout
	}
	return given
}
