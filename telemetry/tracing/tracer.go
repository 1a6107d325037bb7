package tracing

import (
	"context"
	"errors"
	"fmt"
	"sync"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/otlp"
)

// scope is the name of the instrumentation: who made the spans.
const scope = "github.com/sluiceproxy/sluice"

// Tracer makes the spans of requests. It may be used by several goroutines at once.
type Tracer struct {
	sampler  sampler
	captured captured
	query    query
	batches  sync.Pool
	spans    trace.Tracer
	provider *sdktrace.TracerProvider
	outlet   *outlet
}

// New returns a tracer that sends to the exporter, which it owns from then on. An option that makes no sense is an error that names it.
// Failures to send are told to the logger, at most once a minute.
func New(config static.Tracing, exporter sdktrace.SpanExporter, logger telemetry.Logger) (*Tracer, error) {
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
	outlet := newOutlet(exporter, otlp.NewReporter(logger))
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithResource(otlp.Resource(config.ServiceName, attributes)),
		sdktrace.WithSampler(sdktrace.AlwaysSample()), // Only sampled requests come as far as the provider.
		sdktrace.WithIDGenerator(generator{}),
		sdktrace.WithRawSpanLimits(limits()),
		sdktrace.WithSpanProcessor(outlet),
	)
	return &Tracer{
		sampler: sampler, captured: captured, query: newQuery(config.SafeQueryParams),
		batches: sync.Pool{New: func() any { return new(batch) }},
		spans:   provider.Tracer(scope), provider: provider, outlet: outlet,
	}, nil
}

// Dropped returns how many spans did not reach the collector, because the queue was full or sending failed, since the beginning.
func (t *Tracer) Dropped() uint64 { return t.outlet.dropped.Load() }

// Shutdown sends what is queued and closes the exporter. When the context ends first, the rest is dropped, and its error is returned.
func (t *Tracer) Shutdown(ctx context.Context) error {
	return t.outlet.shutdown(ctx, t.provider.Shutdown)
}
