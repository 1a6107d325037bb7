package tracing

import (
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/queue"
)

const (
	// mostAttributes is how many attributes a span has at most; further ones are counted in it.
	mostAttributes = 128
	// longestKept is the length in bytes up to which the memory of a span that was sent is used again.
	longestKept = 4 << 10
)

// span is a part of a sampled request. What is told of it is written into a message at once, so that nothing of the request's head stays
// in memory until it is sent.
type span struct {
	tracer *Tracer
	// root is the server span of the request.
	root     *span
	identity telemetry.TraceContext
	// state is the tracestate of the trace.
	state string
	start time.Time
	// node holds the message; nil once the span has ended.
	node             *queue.Node[message]
	attributes, lost int
}

// parentage says what a span is a part of: another span, or only a trace where its SpanID is zero.
type parentage struct {
	telemetry.TraceContext

	state string
	// remote says that the other span is not Sluice's.
	remote bool
}

// newSpan begins a span.
func (t *Tracer) newSpan(of parentage, name string, kind tracepb.Span_SpanKind, start time.Time) *span {
	s := &span{
		tracer: t, identity: telemetry.TraceContext{TraceID: of.TraceID, SpanID: newSpanID(), Sampled: true},
		state: of.state, start: start, node: t.outlet.queue.Take(),
	}
	m := s.node.Value[:0].bytes(spanTrace, of.TraceID[:]).bytes(spanIdentity, s.identity.SpanID[:])
	if of.state != "" {
		m = m.text(spanState, of.state)
	}
	flags := tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK | 1 // It is sampled (W3C Trace Context, section 3.2.2.5).
	if of.Valid() {
		m = m.bytes(spanParent, of.SpanID[:])
	}
	if of.remote {
		flags |= tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK
	}
	s.node.Value = m.flags(uint32(flags)).text(spanName, clean(name)).number(spanKind, uint64(kind)).moment(spanStart, start) //nolint:gosec // Neither is negative.
	return s
}

// Child begins a part of the part.
func (s *span) Child(name string, client bool) telemetry.Span {
	kind := tracepb.Span_SPAN_KIND_INTERNAL
	if client {
		kind = tracepb.Span_SPAN_KIND_CLIENT
	}
	out := s.tracer.newSpan(parentage{TraceContext: s.identity, state: s.state}, name, kind, time.Now())
	out.root = s.root
	return out
}

// Set notes an attribute, whose key has not been set before. A value of another type than telemetry.Span names is not noted, and none
// after the end.
func (s *span) Set(key string, value any) {
	if !s.room() {
		return
	}
	var known bool
	if s.node.Value, known = s.node.Value.anyPair(spanAttribute, key, value); !known {
		s.attributes--
	}
}

// room reports whether one more attribute may be noted, and counts it.
func (s *span) room() bool {
	if s.node == nil {
		return false
	}
	if s.attributes == mostAttributes {
		s.lost++
		return false
	}
	s.attributes++
	return true
}

// text notes an attribute, as Set does.
func (s *span) text(key, value string) {
	if s.room() {
		s.node.Value = s.node.Value.textPair(spanAttribute, key, value)
	}
}

// int notes an attribute, as Set does.
func (s *span) int(key string, value int64) {
	if s.room() {
		s.node.Value = s.node.Value.intPair(spanAttribute, key, value)
	}
}

// list notes an attribute, as Set does.
func (s *span) list(key string, values []string) {
	if s.room() {
		s.node.Value = s.node.Value.listPair(spanAttribute, key, values)
	}
}

// Traceparent returns the header of those who are a part of the span.
func (s *span) Traceparent() string {
	out := s.identity.Traceparent()
	return string(out[:])
}

// End ends the span.
func (s *span) End(failure string) { s.end(s.start.Add(time.Since(s.start)), failure != "", failure) }

// end ends the span at a time, and leaves it to be sent. One that has ended already stays as it is.
func (s *span) end(at time.Time, failed bool, failure string) {
	if s.node == nil {
		return
	}
	m := s.node.Value.moment(spanEnd, at)
	if failed {
		m = m.status(clean(failure))
	}
	if s.lost > 0 {
		m = m.number(spanLost, uint64(s.lost)) //nolint:gosec // It counts.
	}
	s.node.Value = m
	s.tracer.outlet.leave(s.node)
	s.node = nil
}
