package tracing

import (
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// received returns a batch as a collector reads it off the wire.
func received(batch []*tracepb.ResourceSpans) (tracetest.SpanStubs, error) {
	wire, err := proto.Marshal(&coltracepb.ExportTraceServiceRequest{ResourceSpans: batch})
	if err != nil {
		return nil, err
	}
	var request coltracepb.ExportTraceServiceRequest
	if err := proto.Unmarshal(wire, &request); err != nil {
		return nil, err
	}
	var out tracetest.SpanStubs
	for _, from := range request.GetResourceSpans() {
		for _, by := range from.GetScopeSpans() {
			if len(by.ProtoReflect().GetUnknown()) > 0 || by.GetScope().GetName() != scope {
				return nil, fmt.Errorf("unknown fields, or the scope %q", by.GetScope().GetName())
			}
			for _, span := range by.GetSpans() {
				one, err := stub(span)
				if err != nil {
					return nil, err
				}
				one.Resource = resource.NewWithAttributes(from.GetSchemaUrl(), pairs(from.GetResource().GetAttributes())...)
				out = append(out, one)
			}
		}
	}
	return out, nil
}

func stub(from *tracepb.Span) (tracetest.SpanStub, error) {
	if len(from.ProtoReflect().GetUnknown()) > 0 || from.GetFlags()&0x101 != 0x101 {
		return tracetest.SpanStub{}, fmt.Errorf("unknown fields, or flags %x", from.GetFlags())
	}
	state, err := trace.ParseTraceState(from.GetTraceState())
	if err != nil {
		return tracetest.SpanStub{}, err
	}
	identity := trace.SpanContextConfig{
		TraceID: trace.TraceID(from.GetTraceId()), SpanID: trace.SpanID(from.GetSpanId()), TraceFlags: trace.FlagsSampled, TraceState: state,
	}
	parent := trace.SpanContextConfig{Remote: from.GetFlags()&0x200 != 0}
	if len(from.GetParentSpanId()) > 0 {
		parent.TraceID, parent.SpanID = identity.TraceID, trace.SpanID(from.GetParentSpanId())
	}
	out := tracetest.SpanStub{
		Name: from.GetName(), SpanKind: trace.SpanKind(from.GetKind()), SpanContext: trace.NewSpanContext(identity),
		Parent: trace.NewSpanContext(parent), StartTime: time.Unix(0, int64(from.GetStartTimeUnixNano())), //nolint:gosec // It is a time.
		EndTime: time.Unix(0, int64(from.GetEndTimeUnixNano())), Attributes: pairs(from.GetAttributes()), //nolint:gosec // It is a time.
		DroppedAttributes: int(from.GetDroppedAttributesCount()),
	}
	out.Status.Description = from.GetStatus().GetMessage()
	if from.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR {
		out.Status.Code = codes.Error
	}
	return out, nil
}

func pairs(of []*commonpb.KeyValue) []attribute.KeyValue {
	var out []attribute.KeyValue
	for _, one := range of {
		pair := attribute.KeyValue{Key: attribute.Key(one.GetKey())}
		switch value := one.GetValue().GetValue().(type) {
		case *commonpb.AnyValue_StringValue:
			pair.Value = attribute.StringValue(value.StringValue)
		case *commonpb.AnyValue_BoolValue:
			pair.Value = attribute.BoolValue(value.BoolValue)
		case *commonpb.AnyValue_IntValue:
			pair.Value = attribute.Int64Value(value.IntValue)
		case *commonpb.AnyValue_DoubleValue:
			pair.Value = attribute.Float64Value(value.DoubleValue)
		case *commonpb.AnyValue_ArrayValue:
			var list []string
			for _, one := range value.ArrayValue.GetValues() {
				list = append(list, one.GetStringValue())
			}
			pair.Value = attribute.StringSliceValue(list)
		}
		out = append(out, pair)
	}
	return out
}
