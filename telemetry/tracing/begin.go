package tracing

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/trace"

	"github.com/sluiceproxy/sluice/telemetry"
)

// Begin decides whether the request is sampled: as the client's traceparent header says, and by the share of sampleRate where there is
// none (or a malformed one, which is ignored together with the tracestate). It sets record.Trace; of a sampled request also record.Span, a
// server span from record.Start on; and the request's traceparent, so that endpoints learn of the decision: the header of a client that
// decided against sampling stays as it is. It is called on the request's goroutine once it is known that record.Observe has ObserveTrace,
// and does nothing without. Where response headers are captured it adds ObserveHeaders for a sampled request.
func (t *Tracer) Begin(record *telemetry.Record, r *http.Request) {
	if !record.Observe.Has(telemetry.ObserveTrace) {
		return
	}
	from, isPart := parent(r.Header)
	if isPart && !from.Sampled {
		record.Trace = from
		return
	}
	if !isPart {
		delete(r.Header, "Tracestate") // It belongs to the traceparent (W3C Trace Context, section 3.3.1).
		identity, header := t.next()
		if !t.sampler.samples(identity.TraceID) {
			record.Trace = identity
			record.SetTraceparent(r.Header, header)
			return
		}
		from = telemetry.TraceContext{TraceID: identity.TraceID}
	}
	root := t.open(record, from, r.Header)
	record.Trace, record.Span = root.identity(), root
	record.SetTraceparent(r.Header, root.Traceparent())
	if len(t.captured.response) > 0 {
		record.Observe |= telemetry.ObserveHeaders
	}
}

// Finished ends the span of a request with what is known of it by now. A sampled request that never came to Begin, since no router
// answered it, gets its span here. The caller is the request's goroutine, after the handler has returned.
func (t *Tracer) Finished(record *telemetry.Record) {
	if !record.Observe.Has(telemetry.ObserveTrace) {
		return
	}
	if s, ok := record.Span.(*span); ok {
		t.finish(s.root, record)
		return
	}
	if record.Trace.Valid() {
		return // It is not sampled.
	}
	from, isPart := parent(record.RequestHeader)
	if !isPart {
		from = telemetry.TraceContext{TraceID: newTraceID()}
		from.Sampled = t.sampler.samples(from.TraceID)
	}
	if from.Sampled {
		root := t.open(record, from, record.RequestHeader)
		record.Trace = root.identity()
		t.finish(root, record)
	}
}

// open begins the server span of a request: a part of the client's span, or a new trace where from names no span.
func (t *Tracer) open(record *telemetry.Record, from telemetry.TraceContext, header http.Header) *span {
	ctx := context.Background()
	if from.Valid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: from.TraceID, SpanID: from.SpanID, TraceFlags: trace.FlagsSampled, TraceState: state(header), Remote: true,
		}))
	} else {
		ctx = withTraceID(ctx, from.TraceID)
	}
	name, known := telemetry.RegisteredMethod(record.Method)
	if !known {
		name = "HTTP"
	}
	ctx, inner := t.spans.Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(record.Start))
	out := &span{tracer: t, context: ctx, inner: inner}
	out.root = out
	t.describe(out, header, record.TLS != nil)
	return out
}
