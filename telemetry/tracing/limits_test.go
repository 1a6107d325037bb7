package tracing

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

func TestASpanHasOnlySoManyAttributes(t *testing.T) {
	spans := traced(t, defaults(), func(tracer *Tracer) {
		record, r := begun(nil)
		tracer.Begin(record, r)
		child := record.Span.Child("GET", true)
		for i := range maxAttributes + 7 {
			child.Set(fmt.Sprint("key", i), i)
		}
		child.Set("late", true)
		child.End("")
		child.Set("after", true)
		child.End("a second time")
		tracer.Finished(record)
		tracer.Finished(record)
	})
	if len(spans) != 2 || len(spans[0].Attributes) != maxAttributes || spans[0].DroppedAttributes != 8 ||
		spans[0].Status.Description != "" {
		t.Fatalf("%d spans; the first has %d attributes and lost %d", len(spans), len(spans[0].Attributes),
			spans[0].DroppedAttributes)
	}
	if got := attributes(spans[0])[fmt.Sprint("key", maxAttributes-1)]; got != int64(maxAttributes-1) {
		t.Errorf("the last attribute is %v", got)
	}
}

// Memory is used again, and must hold nothing of the span before.
func TestSpansDoNotMix(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := &keeper{}
		tracer, err := New(defaults(), kept, &lines{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3000 {
			record, r := begun(nil)
			record.Path = fmt.Sprint("/", strings.Repeat("x", i%700), i)
			tracer.Begin(record, r)
			tracer.Finished(record)
			synctest.Wait()
		}
		if err := tracer.Shutdown(t.Context()); err != nil || tracer.Dropped() > 0 {
			t.Fatalf("error %v, %d dropped", err, tracer.Dropped())
		}
		for i, span := range kept.spans {
			if got := attributes(span)["url.path"]; got != fmt.Sprint("/", strings.Repeat("x", i%700), i) {
				t.Fatalf("span %d is of %v", i, got)
			}
		}
		if len(kept.spans) != 3000 {
			t.Errorf("%d spans", len(kept.spans))
		}
	})
}

// TestBatchesAreBounded demands that long spans are sent in several batches, and that no more wait than there
// is memory for.
func TestBatchesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := &keeper{hold: make(chan struct{})}
		tracer, err := New(defaults(), kept, &lines{})
		if err != nil {
			t.Fatal(err)
		}
		const size, spans = 64 << 10, 200
		long := make([]string, maxValues)
		for i := range long {
			long[i] = strings.Repeat("x", maxValue)
		}
		record, r := begun(nil)
		tracer.Begin(record, r)
		for range spans {
			part := record.Span.Child("", false)
			for i := range size / (maxValues * maxValue) {
				part.Set(fmt.Sprint("long", i), long)
			}
			part.End("")
		}
		dropped := tracer.Dropped()
		if waiting := spans - int64(dropped); waiting*size > maxQueueBytes || waiting*size < maxQueueBytes/2 {
			t.Errorf("%d spans of %d bytes wait", waiting, size)
		}
		close(kept.hold)
		if err := tracer.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if most := slices.Max(kept.batches); most*size > maxBatchBytes || len(kept.spans) != spans-int(dropped) {
			t.Errorf("%d spans are sent, and %d of them at once", len(kept.spans), most)
		}
	})
}

// TestSizeHasTheTraceState demands that what a client sends as tracestate counts for the limit of the queue.
func TestSizeHasTheTraceState(t *testing.T) {
	long := strings.Repeat("x", 256)
	state, err := trace.ParseTraceState("a=" + long + ",b=" + long)
	if err != nil {
		t.Fatal(err)
	}
	with := tracetest.SpanStub{SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceState: state})}
	without := sizeOf(tracetest.SpanStub{}.Snapshot())
	if size := sizeOf(with.Snapshot()); size < without+int64(len(state.String())) {
		t.Errorf("%d bytes with %d bytes of tracestate, %d without", size, len(state.String()), without)
	}
}

// inPart is an error of a collector that took all but one span.
type inPart struct{ error }

func (inPart) Unsent(int) int { return 1 }

func TestWhatIsTakenInPartIsNotDropped(t *testing.T) {
	logged := &lines{}
	tracer, err := New(defaults(), &keeper{err: inPart{errors.New("one is too old")}}, logged)
	if err != nil {
		t.Fatal(err)
	}
	finish(tracer, 5)
	if err := tracer.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if tracer.Dropped() != 1 || len(logged.all) != 1 || !strings.Contains(logged.all[0], "one is too old") {
		t.Errorf("%d spans are dropped; logged: %q", tracer.Dropped(), logged.all)
	}
}

// FuzzAttributes demands that whatever is noted can be read as OTLP.
func FuzzAttributes(f *testing.F) {
	f.Add("key", "value", int64(-1), 0.5)
	f.Add("", "\xff", int64(1)<<62, 0.0)
	f.Fuzz(func(t *testing.T, key, value string, number int64, share float64) {
		key = clean(key)
		spans := traced(t, defaults(), func(tracer *Tracer) {
			record, r := begun(nil)
			tracer.Begin(record, r)
			record.Span.Set("text"+key, value)
			record.Span.Set("number"+key, number)
			record.Span.Set("share"+key, share)
			record.Span.Set("list"+key, []string{value, "", value})
			record.Span.End(value)
		})
		if len(spans) != 1 {
			t.Fatalf("%d spans", len(spans))
		}
		got := attributes(spans[0])
		list, _ := got["list"+key].([]string)
		if got["text"+key] != clean(value) || got["number"+key] != number || len(list) != 3 || list[2] != clean(value) ||
			(got["share"+key] != share && share == share) { //nolint:gocritic // NaN differs from itself.
			t.Errorf("%q and %q are read as %v", key, value, got)
		}
	})
}

// TestManySmallSpansAreSentInTime demands that a batch is sent as soon as there is one, however small its spans are.
func TestManySmallSpansAreSentInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := &keeper{}
		tracer, err := New(defaults(), kept, &lines{})
		if err != nil {
			t.Fatal(err)
		}
		record, r := begun(nil)
		tracer.Begin(record, r)
		for range 4 * maxQueue {
			record.Span.Child("", false).End("")
			synctest.Wait()
		}
		if got := len(kept.spans); got != 4*maxQueue || tracer.Dropped() > 0 {
			t.Errorf("%d spans are sent, %d dropped", got, tracer.Dropped())
		}
		if err := tracer.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		tracer.Finished(record)
		if tracer.Dropped() != 1 {
			t.Errorf("%d spans are counted as dropped that ended after the end", tracer.Dropped())
		}
	})
}

// TestTheResourceIsComplete demands that no limit of spans is one of the resource, and that it can be sent
// whatever the environment says.
func TestTheResourceIsComplete(t *testing.T) {
	long := strings.Repeat("x", 2*maxValue)
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "long="+long+",bad\xff=\xff")
	spans := traced(t, defaults(), func(tracer *Tracer) { finish(tracer, 1) })
	set := spans[0].Resource.Set()
	if value, _ := set.Value("long"); value.AsString() != long {
		t.Errorf("a value of %d bytes arrived with %d", len(long), len(value.AsString()))
	}
	if value, found := set.Value("bad\uFFFD"); !found || value.AsString() != "\uFFFD" {
		t.Errorf("the resource has %v", set.Encoded(attribute.DefaultEncoder()))
	}
}
