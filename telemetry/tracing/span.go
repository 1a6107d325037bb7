package tracing

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/sluiceproxy/sluice/telemetry"
)

const (
	// maxAttributes is how many attributes a span has at most; further ones are counted in it.
	maxAttributes = 128
	// maxValue is the length in bytes to which a text is cut.
	maxValue = 1024
	// maxValues is how many values of one header become attributes.
	maxValues = 16
	// serverAttributes and childAttributes are how many attributes a span has room for at first, usualTexts how many
	// bytes of texts.
	serverAttributes, childAttributes, usualTexts = 20, 8, 256
)

// span is a part of a sampled request: a span of the SDK, and its attributes. Texts are copied, because the memory of a
// request's head is used again.
type span struct {
	tracer *Tracer
	// root is the server span of the request.
	root  *span
	inner trace.Span
	// below is the context of child spans.
	below      context.Context //nolint:containedctx // The SDK takes the parent of a span from a context.
	start      time.Time
	attributes []attribute.KeyValue
	// dropped is the number of attributes beyond maxAttributes.
	dropped int
	// texts is the memory of texts.
	texts strings.Builder
	ended bool
}

// finishedSpan is a span of the SDK with its attributes. The SDK itself would copy them, and look for keys that are set
// twice.
type finishedSpan struct {
	sdktrace.ReadOnlySpan

	attributes []attribute.KeyValue
	dropped    int
}

// Attributes returns the attributes.
func (f *finishedSpan) Attributes() []attribute.KeyValue { return f.attributes }

// DroppedAttributes returns how many attributes are left out.
func (f *finishedSpan) DroppedAttributes() int { return f.dropped }

// newSpan starts a span below that of a context. A span context without a SpanID is only a trace, of which the span is
// the root.
func (t *Tracer) newSpan(parent context.Context, name string, kind trace.SpanKind, start time.Time) *span {
	room := childAttributes
	if kind == trace.SpanKindServer {
		room = serverAttributes
	}
	s := &span{tracer: t, start: start, attributes: make([]attribute.KeyValue, 0, room)}
	s.below, s.inner = t.tracer.Start(parent, s.clean(name), trace.WithSpanKind(kind), trace.WithTimestamp(start))
	return s
}

// identity returns the span's trace context.
func (s *span) identity() telemetry.TraceContext {
	of := s.inner.SpanContext()
	return telemetry.TraceContext{TraceID: of.TraceID(), SpanID: of.SpanID(), Sampled: true}
}

// Child starts a part of the span.
func (s *span) Child(name string, client bool) telemetry.Span {
	kind := trace.SpanKindInternal
	if client {
		kind = trace.SpanKindClient
	}
	out := s.tracer.newSpan(s.below, name, kind, time.Now())
	out.root = s.root
	return out
}

// Set adds an attribute. A value of a type that telemetry.Span does not name is ignored, and so are those after
// the end.
func (s *span) Set(key string, value any) {
	switch value := value.(type) {
	case string:
		s.text(key, value)
	case bool:
		s.add(attribute.Bool(key, value))
	case int:
		s.int(key, int64(value))
	case int64:
		s.int(key, value)
	case float64:
		s.add(attribute.Float64(key, value))
	case []string:
		s.list(key, value)
	}
}

func (s *span) add(one attribute.KeyValue) {
	switch {
	case s.ended:
	case len(s.attributes) == maxAttributes:
		s.dropped++
	default:
		s.attributes = append(s.attributes, one)
	}
}

// text adds an attribute, as Set does.
func (s *span) text(key, value string) { s.add(attribute.String(key, s.clean(value))) }

// int adds an attribute, as Set does.
func (s *span) int(key string, value int64) { s.add(attribute.Int64(key, value)) }

// list adds an attribute, as Set does.
func (s *span) list(key string, values []string) {
	texts := make([]string, min(len(values), maxValues))
	for i := range texts {
		texts[i] = s.clean(values[i])
	}
	s.add(attribute.StringSlice(key, texts))
}

// Traceparent returns the header for requests that are a part of the span.
func (s *span) Traceparent() string {
	identity := s.identity()
	out := identity.Traceparent()
	return string(out[:])
}

// End ends the span.
func (s *span) End(failure string) { s.end(s.start.Add(time.Since(s.start)), failure != "", failure) }

// end ends the span at a time, and queues it. A span that has ended stays as it is.
func (s *span) end(at time.Time, failed bool, failure string) {
	if s.ended {
		return
	}
	s.ended = true
	if failed {
		s.inner.SetStatus(codes.Error, s.clean(failure))
	}
	s.inner.End(trace.WithTimestamp(at))
	if done, ok := s.inner.(sdktrace.ReadOnlySpan); ok {
		s.tracer.queue.OnEnd(&finishedSpan{ReadOnlySpan: done, attributes: s.attributes, dropped: s.dropped})
	}
}

// clean returns a copy of a text that is short and valid, in memory of the span.
func (s *span) clean(value string) string {
	value = clean(value)
	if s.texts.Cap()-s.texts.Len() < len(value) {
		s.texts.Reset() // Earlier texts keep their memory.
		s.texts.Grow(max(len(value), usualTexts))
	}
	at := s.texts.Len()
	s.texts.WriteString(value)
	return s.texts.String()[at:]
}

// clean returns a text that is short and valid UTF-8: a collector refuses the whole batch otherwise.
func clean(value string) string {
	value = value[:min(len(value), maxValue)]
	if !utf8.ValidString(value) {
		return strings.ToValidUTF8(value, "\uFFFD")
	}
	return value
}
