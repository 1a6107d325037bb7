package tracing

import (
	"net/http"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/sluiceproxy/sluice/telemetry"
)

// Begin decides whether the request is sampled: as the client's traceparent header says, and by the share of sampleRate where there is
// none (or a malformed one, which is ignored together with the tracestate). It sets record.Trace; of a sampled request also record.Span, a
// server span from record.Start on; and the request's traceparent, so that endpoints learn of the decision: the header of a client that
// decided against sampling stays as it is, and with record.TraceApart that of an unsampled request without one is left to who asks the
// endpoint. It is called on the request's goroutine once it is known that record.Observe has ObserveTrace,
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
		if _, found := r.Header["Tracestate"]; found { //nolint:staticcheck // Looking costs less than deleting what is not there.
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
	record.Trace, record.Span = root.identity, root
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
	from, isPart := parent(record.RequestHeader["Traceparent"])
	if !isPart {
		from = telemetry.TraceContext{TraceID: newTraceID()}
		from.Sampled = t.sampler.samples(from.TraceID)
	}
	if from.Sampled {
		root := t.open(record, from, record.RequestHeader)
		record.Trace = root.identity
		t.finish(root, record)
	}
}

// open begins the server span of a request: a part of the client's span, or a new trace where from names no span.
func (t *Tracer) open(record *telemetry.Record, from telemetry.TraceContext, header http.Header) *span {
	of := parentage{TraceContext: from, remote: from.Valid()}
	if of.remote {
		of.state = state(header)
	}
	name, known := telemetry.RegisteredMethod(record.Method)
	if !known {
		name = "HTTP"
	}
	out := t.newSpan(of, name, tracepb.Span_SPAN_KIND_SERVER, record.Start)
	out.root = out
	t.describe(out, header, record.TLS != nil)
	return out
}
