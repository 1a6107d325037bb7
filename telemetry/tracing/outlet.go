package tracing

import (
	"context"
	"sync/atomic"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/sluiceproxy/sluice/telemetry/otlp"
)

const (
	// capacity is how many spans may wait, those that are being sent included.
	capacity = 2048
	// batchSize is how many spans are sent at once.
	batchSize = 512
	// interval is how long spans wait for others at most, and timeout how long sending them may take. They are said because the SDK would
	// else read them from its environment variables, of which the rest of the configuration takes no notice.
	interval, timeout = 5 * time.Second, 30 * time.Second
)

// outlet is the way of ended spans to the exporter: the SDK's batch processor between two counters, since the processor does not tell
// what it drops. It never blocks who ends a span.
type outlet struct {
	sdktrace.SpanProcessor

	exporter sdktrace.SpanExporter
	reporter *otlp.Reporter
	stopped  context.Context
	stop     context.CancelFunc
	waiting  atomic.Int64
	dropped  atomic.Uint64
}

func newOutlet(exporter sdktrace.SpanExporter, reporter *otlp.Reporter) *outlet {
	out := &outlet{exporter: exporter, reporter: reporter}
	out.stopped, out.stop = context.WithCancel(context.Background())
	out.SpanProcessor = sdktrace.NewBatchSpanProcessor(&counting{out},
		sdktrace.WithMaxQueueSize(capacity), sdktrace.WithMaxExportBatchSize(batchSize),
		sdktrace.WithBatchTimeout(interval), sdktrace.WithExportTimeout(timeout))
	return out
}

// OnEnd queues the span, or drops it where too many wait.
func (o *outlet) OnEnd(span sdktrace.ReadOnlySpan) {
	if o.waiting.Add(1) > capacity {
		o.waiting.Add(-1)
		o.dropped.Add(1)
		return
	}
	o.SpanProcessor.OnEnd(span)
}

// shutdown ends with the context at the latest: a batch that is being sent then is given up. The provider is not told of the context, for
// it does not even begin with one that is over, and what it has started would stay.
func (o *outlet) shutdown(ctx context.Context, provider func(context.Context) error) error {
	done := make(chan error, 1)
	go func() { done <- provider(context.WithoutCancel(ctx)) }()
	defer o.stop()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// counting is the exporter as the processor sees it. It tells of failures itself, so that the processor has none to tell.
type counting struct{ outlet *outlet }

// ExportSpans sends a batch.
func (c *counting) ExportSpans(ctx context.Context, batch []sdktrace.ReadOnlySpan) error {
	defer c.outlet.waiting.Add(-int64(len(batch)))
	if c.outlet.stopped.Err() != nil {
		c.outlet.dropped.Add(uint64(len(batch)))
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	detach := context.AfterFunc(c.outlet.stopped, cancel)
	defer detach()
	if err := c.outlet.exporter.ExportSpans(ctx, batch); err != nil {
		c.outlet.dropped.Add(uint64(len(batch)))
		c.outlet.reporter.Handle(err)
	}
	return nil
}

// Shutdown closes the exporter.
func (c *counting) Shutdown(ctx context.Context) error { return c.outlet.exporter.Shutdown(ctx) }
