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

// scope is the name of the instrumentation scope.
const scope = "github.com/sluiceproxy/sluice"

// Tracer creates the spans of requests. It is safe for concurrent use.
type Tracer struct {
	sampler  sampler
	captured captured
	query    query
	batches  sync.Pool
	tracer   trace.Tracer
	queue    *spanQueue
}

// New returns a tracer that sends to the exporter, which it owns from then on. An invalid option is an error
// that names it. Failures to send are logged, at most once a minute.
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
		attributes = config.GlobalAttributes // The deprecated name of the same option.
	}
	queue := newSpanQueue(exporter, otlp.NewReporter(logger))
	provider := sdktrace.NewTracerProvider(
		// A span is created only for a request that is sampled, see Begin.
		sdktrace.WithSampler(sdktrace.AlwaysSample()),
		sdktrace.WithResource(otlp.Resource(config.ServiceName, attributes)),
	)
	return &Tracer{
		sampler: sampler, captured: captured, query: newQuery(config.SafeQueryParams),
		batches: sync.Pool{New: func() any { return new(batch) }},
		tracer:  provider.Tracer(scope), queue: queue,
	}, nil
}

// Dropped returns how many spans did not reach the collector, because the queue was full or sending failed,
// since the start.
func (t *Tracer) Dropped() uint64 { return t.queue.dropped.Load() }

// Shutdown sends what is queued and closes the exporter. When the context ends first, the rest is dropped, and
// its error is returned.
func (t *Tracer) Shutdown(ctx context.Context) error {
	defer t.queue.stop()
	return t.queue.Shutdown(ctx) // Not the provider, which would leave spans that end later uncounted.
}
