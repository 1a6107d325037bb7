package tracing

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"net/http"

	"go.opentelemetry.io/otel/trace"

	"github.com/sluiceproxy/sluice/telemetry"
)

// Begin decides whether the request is sampled: as the client's traceparent header says, and by the share of
// sampleRate where there is none (or a malformed one, which is ignored together with the tracestate). It sets
// record.Trace; of a sampled request also record.Span, a server span from record.Start on; and the request's
// traceparent, so that endpoints learn of the decision: the header of a client that decided against sampling
// stays as it is, and with record.TraceApart that of an unsampled request without one is added by the client of
// the endpoint. It is called on the request's goroutine once it is known that record.Observe has ObserveTrace,
// and does nothing without. Where response headers are captured it adds ObserveHeaders for a sampled request.
func (t *Tracer) Begin(record *telemetry.Record, r *http.Request) {
	if !record.Observe.Has(telemetry.ObserveTrace) {
		return
	}
	apart := record.TraceApart
	record.TraceApart = false
	sent := r.Header["Traceparent"]
	from, isPart := parent(sent)
	if isPart && !from.Sampled {
		record.Trace = from
		return
	}
	if !isPart {
		if _, found := r.Header["Tracestate"]; found { //nolint:staticcheck // Cheaper than deleting an absent key.
			delete(r.Header, "Tracestate") // It belongs to the traceparent (W3C Trace Context, section 3.3.1).
		}
		from.TraceID = newTraceID()
		if !t.sampler.samples(from.TraceID) {
			from.SpanID = newSpanID()
			record.Trace = from
			if record.TraceApart = apart && len(sent) == 0; !record.TraceApart {
				record.SetTraceparent(r.Header, t.header(&from))
			}
			return
		}
	}
	root := t.open(record, from, r.Header)
	record.Trace, record.Span = root.identity(), root
	record.SetTraceparent(r.Header, root.Traceparent())
	if len(t.captured.response) > 0 {
		record.Observe |= telemetry.ObserveHeaders
	}
}

// Finished ends the span of a request with what is known of it by now. A sampled request that never came to
// Begin, since no router answered it, gets its span here. TCP connections and UDP sessions have no spans. The caller is
// the request's goroutine, after the handler has returned.
func (t *Tracer) Finished(record *telemetry.Record) {
	if !record.Observe.Has(telemetry.ObserveTrace) || !record.IsRequest() {
		return
	}
	if s, ok := record.Span.(*span); ok {
		t.finish(s.root, record)
		return
	}
	if record.Trace.Valid() {
		return // It is not sampled.
	}
	from, isPart := parent(record.RequestHeader["Traceparent"])
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
	parent := trace.SpanContextConfig{
		TraceID: from.TraceID, SpanID: from.SpanID, TraceFlags: trace.FlagsSampled, Remote: from.Valid(),
	}
	if parent.Remote {
		parent.TraceState = state(header)
	}
	name, known := telemetry.RegisteredMethod(record.Method)
	if !known {
		name = "HTTP"
	}
	above := trace.ContextWithSpanContext(context.Background(), trace.NewSpanContext(parent))
	out := t.newSpan(above, name, trace.SpanKindServer, record.Start)
	out.root = out
	t.describe(out, header, record.TLS != nil)
	return out
}

// newTraceID returns a random trace ID, which the sampler decides by before there is a span.
func newTraceID() (out [16]byte) {
	binary.BigEndian.PutUint64(out[:8], rand.Uint64())
	binary.BigEndian.PutUint64(out[8:], max(rand.Uint64(), 1)) // An ID of zeros is invalid.
	return out
}

// newSpanID returns a random span ID, for requests that are not sampled.
func newSpanID() (out [8]byte) {
	binary.BigEndian.PutUint64(out[:], max(rand.Uint64(), 1))
	return out
}
