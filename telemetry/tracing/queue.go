package tracing

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/otlp"
)

const (
	// maxQueue is how many spans may wait, those that are being sent included, and maxQueueBytes their size.
	maxQueue      = 2048
	maxQueueBytes = 8 << 20
	// maxBatch and maxBatchBytes bound the spans that are sent at once: collectors accept messages of 4 MiB by
	// default. A single span may be longer.
	maxBatch      = 512
	maxBatchBytes = 1 << 20
	// batchTimeout is how long spans wait for a batch to fill, and exportTimeout how long sending may take,
	// retries included.
	batchTimeout, exportTimeout = 5 * time.Second, 30 * time.Second
)

// spanQueue bounds what waits in the SDK's batch processor, by number and by size, and counts the spans that
// are dropped. The batch processor alone counts no bytes and reports no drops.
type spanQueue struct {
	sdktrace.SpanProcessor

	waiting, bytes atomic.Int64
	dropped        atomic.Uint64
	closed         atomic.Bool
	stop           context.CancelFunc
}

func newSpanQueue(exporter sdktrace.SpanExporter, reporter *otlp.Reporter) *spanQueue {
	stopped, stop := context.WithCancel(context.Background())
	q := &spanQueue{stop: stop}
	q.SpanProcessor = sdktrace.NewBatchSpanProcessor(&boundedExporter{exporter, q, reporter, stopped},
		sdktrace.WithMaxQueueSize(maxQueue), sdktrace.WithMaxExportBatchSize(maxBatch),
		sdktrace.WithBatchTimeout(batchTimeout), sdktrace.WithExportTimeout(exportTimeout))
	return q
}

// OnEnd queues a span, or drops it where too much waits. It does not block.
func (q *spanQueue) OnEnd(span sdktrace.ReadOnlySpan) {
	size := sizeOf(span)
	if waiting, bytes := q.waiting.Add(1), q.bytes.Add(size); waiting <= maxQueue && bytes <= maxQueueBytes &&
		!q.closed.Load() {
		q.SpanProcessor.OnEnd(span)
		return
	}
	q.release(1, size)
	q.dropped.Add(1)
}

// Shutdown sends what is queued. Spans that end afterwards are dropped.
func (q *spanQueue) Shutdown(ctx context.Context) error {
	q.closed.Store(true)
	return q.SpanProcessor.Shutdown(ctx) //nolint:wrapcheck // It is the exporter's error, or the context's.
}

func (q *spanQueue) release(spans, size int64) {
	q.waiting.Add(-spans)
	q.bytes.Add(-size)
}

// sizeOf returns about how many bytes a span takes.
func sizeOf(span sdktrace.ReadOnlySpan) int64 {
	const fixed, perAttribute = 256, 48
	size := fixed + len(span.Name()) + len(span.Status().Description)
	span.SpanContext().TraceState().Walk(func(key, value string) bool {
		size += len(key) + len(value) + len("=,")
		return true
	})
	for _, one := range span.Attributes() {
		size += perAttribute + len(one.Key)
		switch one.Value.Type() {
		case attribute.STRING:
			size += len(one.Value.AsString())
		case attribute.STRINGSLICE:
			for _, value := range one.Value.AsStringSlice() {
				size += len(value)
			}
		default:
		}
	}
	return int64(size)
}

// boundedExporter sends what the batch processor gathers, in batches that collectors accept.
type boundedExporter struct {
	sdktrace.SpanExporter

	queue    *spanQueue
	reporter *otlp.Reporter
	// stopped ends when the rest is given up.
	stopped context.Context //nolint:containedctx // The batch processor passes no context that ends with Shutdown.
}

// ExportSpans sends spans. It reports failures itself and returns none.
func (e *boundedExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.stopped, cancel)()
	for len(spans) > 0 {
		batch, size := nextBatch(spans)
		e.send(ctx, batch)
		e.queue.release(int64(len(batch)), size)
		spans = spans[len(batch):]
	}
	return nil
}

// Shutdown closes the exporter. It closes the connections also where the context has ended.
func (e *boundedExporter) Shutdown(ctx context.Context) error {
	return e.SpanExporter.Shutdown(context.WithoutCancel(ctx)) //nolint:wrapcheck // It is the exporter's error.
}

// send sends a batch, unless sending has been given up, and counts what does not arrive.
func (e *boundedExporter) send(ctx context.Context, batch []sdktrace.ReadOnlySpan) {
	if e.stopped.Err() != nil {
		e.queue.dropped.Add(uint64(len(batch)))
		return
	}
	if err := e.SpanExporter.ExportSpans(ctx, batch); err != nil {
		e.queue.dropped.Add(uint64(telemetry.Unsent(err, len(batch)))) //nolint:gosec // It is a part of the batch.
		e.reporter.Handle(err)
	}
}

// nextBatch returns the first spans that are sent at once, and their size.
func nextBatch(spans []sdktrace.ReadOnlySpan) (batch []sdktrace.ReadOnlySpan, size int64) {
	for i, span := range spans {
		one := sizeOf(span)
		if i > 0 && size+one > maxBatchBytes {
			return spans[:i], size
		}
		size += one
	}
	return spans, size
}
