package tracing

import (
	"context"
	"errors"
	"fmt"
	"sync"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/otlp"
)

// Exporter sends spans to a collector. otlp.Spans returns one.
type Exporter interface {
	// UploadTraces sends a batch, and ends with the context. The batch is valid until it returns, and not changed. It may hold what is to
	// be sent as fields that are not known, so that it is sent in the binary form and no other.
	UploadTraces(ctx context.Context, batch []*tracepb.ResourceSpans) error
	// Stop ends the exporter. Nothing is sent after it.
	Stop(ctx context.Context) error
}

// Tracer makes the spans of requests. It may be used by several goroutines at once.
type Tracer struct {
	sampler  sampler
	captured captured
	query    query
	batches  sync.Pool
	outlet   *outlet
}

// New returns a tracer that sends to the exporter, which it owns from then on. An option that makes no sense is an error that names it.
// Failures to send are told to the logger, at most once a minute.
func New(config static.Tracing, exporter Exporter, logger telemetry.Logger) (*Tracer, error) {
	if exporter == nil {
		return nil, errors.New("tracing: there is no exporter")
	}
	sampler, err := newSampler(config.SampleRate)
	if err != nil {
		return nil, fmt.Errorf("tracing.sampleRate: %w", err)
	}
	captured, err := newCaptured(config.CapturedRequestHeaders, config.CapturedResponseHeaders)
	if err != nil {
		return nil, fmt.Errorf("tracing.%w", err)
	}
	attributes := config.ResourceAttributes
	if len(attributes) == 0 {
		attributes = config.GlobalAttributes // The deprecated name gives way to the other.
	}
	origin := newOrigin(otlp.Resource(config.ServiceName, attributes))
	return &Tracer{
		sampler: sampler, captured: captured, query: newQuery(config.SafeQueryParams),
		batches: sync.Pool{New: func() any { return new(batch) }},
		outlet:  newOutlet(exporter, origin, otlp.NewReporter(logger)),
	}, nil
}

// Dropped returns how many spans did not reach the collector, because the queue was full or sending failed, since the beginning.
func (t *Tracer) Dropped() uint64 { return t.outlet.dropped.Load() }

// Shutdown sends what is queued and closes the exporter. When the context ends first, the rest is dropped, and its error is returned.
func (t *Tracer) Shutdown(ctx context.Context) error { return t.outlet.shutdown(ctx) }
