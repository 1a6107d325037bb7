package tracing

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
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
)

// span is a part of a sampled request: a span of the SDK, and its attributes until it ends. Texts are copied,
// because the memory of a request's head is used again.
type span struct {
	tracer *Tracer
	// root is the server span of the request.
	root       *span
	inner      trace.Span
	start      time.Time
	attributes []attribute.KeyValue
	ended      bool
}

// newSpan starts a span below a parent. A parent without a SpanID is only a trace, of which the span is the root.
func (t *Tracer) newSpan(parent trace.SpanContext, name string, kind trace.SpanKind, start time.Time) *span {
	_, inner := t.tracer.Start(trace.ContextWithSpanContext(context.Background(), parent), clean(name),
		trace.WithSpanKind(kind), trace.WithTimestamp(start))
	return &span{tracer: t, inner: inner, start: start, attributes: make([]attribute.KeyValue, 0, 24)}
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
	out := s.tracer.newSpan(s.inner.SpanContext(), name, kind, time.Now())
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
	if !s.ended {
		s.attributes = append(s.attributes, one)
	}
}

// text adds an attribute, as Set does.
func (s *span) text(key, value string) { s.add(attribute.String(key, clean(value))) }

// int adds an attribute, as Set does.
func (s *span) int(key string, value int64) { s.add(attribute.Int64(key, value)) }

// list adds an attribute, as Set does.
func (s *span) list(key string, values []string) {
	texts := make([]string, min(len(values), maxValues))
	for i := range texts {
		texts[i] = clean(values[i])
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
	s.inner.SetAttributes(s.attributes...)
	if failed {
		s.inner.SetStatus(codes.Error, clean(failure))
	}
	s.inner.End(trace.WithTimestamp(at))
}

// clean returns a copy of a text that is short and valid UTF-8: a collector refuses the whole batch otherwise.
func clean(value string) string {
	value = value[:min(len(value), maxValue)]
	if !utf8.ValidString(value) {
		return strings.ToValidUTF8(value, "\uFFFD")
	}
	return strings.Clone(value)
}
