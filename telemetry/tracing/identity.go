package tracing

import (
	"context"
	"encoding/binary"
	"math/rand/v2"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// newTraceID returns a random identity of a trace.
func newTraceID() (out [16]byte) {
	for out == [16]byte{} {
		binary.BigEndian.PutUint64(out[:8], rand.Uint64())
		binary.BigEndian.PutUint64(out[8:], rand.Uint64())
	}
	return out
}

// newSpanID returns a random identity of a span.
func newSpanID() (out [8]byte) {
	for out == [8]byte{} {
		binary.BigEndian.PutUint64(out[:], rand.Uint64())
	}
	return out
}

type identityKey struct{}

// withTraceID lets the next root span belong to the trace: whether a trace is sampled is decided by its identity, before there is a span.
func withTraceID(ctx context.Context, traceID trace.TraceID) context.Context {
	return context.WithValue(ctx, identityKey{}, traceID)
}

// generator names spans.
type generator struct{}

// NewIDs returns the identities of a root span.
func (generator) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	if traceID, ok := ctx.Value(identityKey{}).(trace.TraceID); ok {
		return traceID, newSpanID()
	}
	return newTraceID(), newSpanID()
}

// NewSpanID returns the identity of a child.
func (generator) NewSpanID(context.Context, trace.TraceID) trace.SpanID { return newSpanID() }

// limits bound what one span may hold: there are as many in memory as may wait.
func limits() sdktrace.SpanLimits {
	return sdktrace.SpanLimits{
		AttributeCountLimit: 128, AttributeValueLengthLimit: longestValue, EventCountLimit: 16, LinkCountLimit: 16,
		AttributePerEventCountLimit: 16, AttributePerLinkCountLimit: 16,
	}
}
