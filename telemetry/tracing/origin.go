package tracing

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// scope is the name of the instrumentation: who made the spans.
const scope = "github.com/sluiceproxy/sluice"

// origin says where spans come from. It is not changed.
type origin struct {
	resource *resourcepb.Resource
	schema   string
	scope    *commonpb.InstrumentationScope
}

func newOrigin(from *resource.Resource) origin {
	out := origin{resource: new(resourcepb.Resource), schema: from.SchemaURL(), scope: &commonpb.InstrumentationScope{Name: scope}}
	for _, one := range from.Attributes() {
		out.resource.Attributes = append(out.resource.Attributes, &commonpb.KeyValue{Key: legible(string(one.Key)), Value: valueOf(one.Value)})
	}
	return out
}

// valueOf returns a value, which is not cut as those of spans are: there is one of it in a batch.
func valueOf(from attribute.Value) *commonpb.AnyValue {
	switch from.Type() {
	case attribute.BOOL:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_BoolValue{BoolValue: from.AsBool()}}
	case attribute.INT64:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: from.AsInt64()}}
	case attribute.FLOAT64:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_DoubleValue{DoubleValue: from.AsFloat64()}}
	case attribute.STRINGSLICE:
		list := new(commonpb.ArrayValue)
		for _, text := range from.AsStringSlice() {
			list.Values = append(list.Values, &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: legible(text)}})
		}
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{ArrayValue: list}}
	case attribute.STRING:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: legible(from.AsString())}}
	default:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: legible(from.String())}}
	}
}

// with returns what is sent of spans that are written already, each as a field of ScopeSpans. They go where a message keeps what it does
// not know, which is sent as it stands: objects for each attribute would cost more than all the rest. The spans are not copied.
func (o origin) with(spans message) []*tracepb.ResourceSpans {
	written := &tracepb.ScopeSpans{Scope: o.scope}
	written.ProtoReflect().SetUnknown([]byte(spans))
	return []*tracepb.ResourceSpans{{Resource: o.resource, SchemaUrl: o.schema, ScopeSpans: []*tracepb.ScopeSpans{written}}}
}
