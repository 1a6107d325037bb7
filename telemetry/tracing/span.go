package tracing

import (
	"context"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/sluiceproxy/sluice/telemetry"
)

// span is a part of a sampled request.
type span struct {
	tracer *Tracer
	// root is the server span of the request.
	root *span
	// context carries the span to its children.
	context context.Context //nolint:containedctx // It is the SDK's way to name a parent.
	inner   trace.Span
}

// Child begins a part of the part.
func (s *span) Child(name string, client bool) telemetry.Span {
	kind := trace.SpanKindInternal
	if client {
		kind = trace.SpanKindClient
	}
	ctx, inner := s.tracer.spans.Start(s.context, text(name), trace.WithSpanKind(kind))
	return &span{tracer: s.tracer, root: s.root, context: ctx, inner: inner}
}

// Set notes an attribute. A value of another type than telemetry.Span names is not noted.
func (s *span) Set(key string, value any) {
	switch value := value.(type) {
	case string:
		s.inner.SetAttributes(attribute.String(key, text(value)))
	case bool:
		s.inner.SetAttributes(attribute.Bool(key, value))
	case int:
		s.inner.SetAttributes(attribute.Int(key, value))
	case int64:
		s.inner.SetAttributes(attribute.Int64(key, value))
	case float64:
		s.inner.SetAttributes(attribute.Float64(key, value))
	case []string:
		s.inner.SetAttributes(attribute.StringSlice(key, texts(value)))
	}
}

// Traceparent returns the header of those who are a part of the span.
func (s *span) Traceparent() string {
	var out [parentLength]byte
	writeParent(out[:], s.identity())
	return string(out[:])
}

func (s *span) identity() telemetry.TraceContext {
	of := s.inner.SpanContext()
	return telemetry.TraceContext{TraceID: of.TraceID(), SpanID: of.SpanID(), Sampled: of.IsSampled()}
}

// End ends the span.
func (s *span) End(failure string) {
	if failure != "" {
		s.inner.SetStatus(codes.Error, text(failure))
	}
	s.inner.End()
}

const (
	// longestValue is the length in bytes to which a text is cut.
	longestValue = 1024
	// mostValues is how many values of one header are told.
	mostValues = 16
)

// text returns a copy that is short and valid UTF-8. A copy, since texts are parts of the request's head, which would stay in memory until
// the span is sent; valid, since a collector refuses the whole batch otherwise.
func text(value string) string {
	if len(value) > longestValue {
		value = value[:longestValue]
	}
	if !utf8.ValidString(value) {
		return strings.ToValidUTF8(value, "\uFFFD")
	}
	return strings.Clone(value)
}

func texts(values []string) []string {
	out := make([]string, min(len(values), mostValues))
	for i := range out {
		out[i] = text(values[i])
	}
	return out
}
