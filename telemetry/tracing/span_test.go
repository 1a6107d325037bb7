package tracing

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

func TestPartsOfARequest(t *testing.T) {
	var told string
	spans := traced(t, defaults(), func(tracer *Tracer) {
		record, r := begun(nil)
		tracer.Begin(record, r)
		part := record.Span.Child("Router", false)
		part.Set("http.route", "Host(`shop.example`)")
		try := part.Child("GET", true)
		for key, value := range map[string]any{
			"text": "a", "whether": true, "count": 1, "long": int64(2), "share": 0.5, "list": []string{"a", "b"},
			"other": struct{}{},
		} {
			try.Set(key, value)
		}
		told = try.Traceparent()
		record.Span = part // A handler that panicked may have left it like this.
		try.End("connection refused")
		part.End("")
		tracer.Finished(record)
	})
	if len(spans) != 3 {
		t.Fatalf("%d spans", len(spans))
	}
	try, part, root := spans[0], spans[1], spans[2]
	if try.Name != "GET" || try.SpanKind != trace.SpanKindClient || part.SpanKind != trace.SpanKindInternal ||
		root.SpanKind != trace.SpanKindServer {
		t.Errorf("kinds %v, %v and %v", try.SpanKind, part.SpanKind, root.SpanKind)
	}
	if try.Parent.SpanID() != part.SpanContext.SpanID() || part.Parent.SpanID() != root.SpanContext.SpanID() ||
		root.Parent.IsValid() {
		t.Error("the spans are not parts of one another")
	}
	want := map[string]any{
		"text": "a", "whether": true, "count": int64(1), "long": int64(2), "share": 0.5, "list": []string{"a", "b"},
	}
	if diff := cmp.Diff(want, attributes(try)); diff != "" {
		t.Error(diff)
	}
	if try.Status.Code != codes.Error || try.Status.Description != "connection refused" ||
		part.Status.Code != codes.Unset {
		t.Errorf("status %+v and %+v", try.Status, part.Status)
	}
	if want := "00-" + try.SpanContext.TraceID().String() + "-" + try.SpanContext.SpanID().String() + "-01"; told != want {
		t.Errorf("endpoints see %q, want %q", told, want)
	}
}
