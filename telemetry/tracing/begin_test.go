package tracing

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"

	"github.com/sluiceproxy/sluice/telemetry"
)

func TestBegin(t *testing.T) {
	unsampled := valid[:53] + "00"
	tests := map[string]struct {
		share   float64
		observe telemetry.Observe
		header  http.Header
		// sampled, same and state are what is wanted: a span, a header that stays as it is, and the tracestate
		// that endpoints get.
		sampled, same bool
		trace         string
		state         []string
	}{
		"new trace, sampled":     {share: 1, observe: telemetry.ObserveTrace, sampled: true},
		"new trace, not sampled": {share: 0, observe: telemetry.ObserveTrace},
		"client decided for": {
			share: 0, observe: telemetry.ObserveTrace, header: http.Header{"Traceparent": {valid}},
			sampled: true, trace: exampleTrace,
		},
		"client decided against": {
			share: 1, observe: telemetry.ObserveTrace,
			header: http.Header{"Traceparent": {unsampled}}, same: true, trace: exampleTrace,
		},
		"state of a sampled trace": {observe: telemetry.ObserveTrace, header: http.Header{
			"Traceparent": {valid},
			"Tracestate":  {"a=1"},
		}, sampled: true, trace: exampleTrace, state: []string{"a=1"}},
		"state of another": {
			observe: telemetry.ObserveTrace, header: http.Header{"Traceparent": {unsampled}, "Tracestate": {"a=1"}},
			same: true, trace: exampleTrace, state: []string{"a=1"},
		},
		"malformed": {share: 1, observe: telemetry.ObserveTrace, header: http.Header{
			"Traceparent": {valid + "x"},
			"Tracestate":  {"a=1"},
		}, sampled: true},
		"malformed, not sampled": {
			share: 0, observe: telemetry.ObserveTrace, header: http.Header{"Traceparent": {"nothing"}, "Tracestate": {"a=1"}},
		},
		"two":         {share: 0, observe: telemetry.ObserveTrace, header: http.Header{"Traceparent": {valid, valid}}},
		"state alone": {share: 0, observe: telemetry.ObserveTrace, header: http.Header{"Tracestate": {"a=1"}}},
		"not traced": {share: 1, observe: telemetry.ObserveAccess, header: http.Header{
			"Traceparent": {valid},
			"Tracestate":  {"a=1"},
		}, same: true, state: []string{"a=1"}},
	}
	for title, test := range tests {
		t.Run(title, func(t *testing.T) {
			spans := traced(t, share(test.share), func(tracer *Tracer) {
				before := test.header.Get("Traceparent")
				record, r := begun(test.header.Clone())
				record.Observe = test.observe
				tracer.Begin(record, r)
				after := r.Header.Get("Traceparent")
				if len(r.Header["Traceparent"]) > 1 || (after == before) != test.same {
					t.Errorf("endpoints see %q, the client sent %q", r.Header["Traceparent"], before)
				}
				if diff := cmp.Diff(test.state, r.Header["Tracestate"]); diff != "" {
					t.Errorf("tracestate: %s", diff)
				}
				if (record.Span != nil) != test.sampled {
					t.Fatalf("span %v", record.Span)
				}
				if test.observe.Has(telemetry.ObserveTrace) {
					told, ok := parseParent(after)
					if !ok || told != record.Trace || told.Sampled != test.sampled {
						t.Errorf("endpoints see %q, the record says %+v", after, record.Trace)
					}
					if test.trace != "" && trace.TraceID(told.TraceID).String() != test.trace {
						t.Errorf("endpoints see another trace: %q", after)
					}
				} else if record.Trace.Valid() {
					t.Errorf("trace %+v of a request that is not traced", record.Trace)
				}
				tracer.Finished(record)
			})
			if (len(spans) == 1) != test.sampled || len(spans) > 1 {
				t.Fatalf("%d spans", len(spans))
			}
			if !test.sampled {
				return
			}
			if got := spans[0].Parent.IsValid(); got != (test.trace != "") {
				t.Errorf("the span has a parent: %t", got)
			}
			if test.trace != "" && (spans[0].Parent.SpanID().String() != exampleSpan || !spans[0].Parent.IsRemote()) {
				t.Errorf("parent %s", spans[0].Parent.SpanID())
			}
			if got := spans[0].SpanContext.TraceState().String(); got != strings.Join(test.state, ",") {
				t.Errorf("the span's tracestate is %q", got)
			}
		})
	}
}

// A request that is not sampled must cost no memory of its own.
func TestUnsampledRequestsAllocateNothing(t *testing.T) {
	traced(t, share(0), func(tracer *Tracer) {
		record, r := begun(nil)
		fresh := *record
		if allocations := testing.AllocsPerRun(2000, func() {
			*record = fresh
			delete(r.Header, "Traceparent")
			tracer.Begin(record, r)
			tracer.Finished(record)
		}); allocations > 0 {
			t.Errorf("%v allocations without a parent", allocations)
		}
		r.Header["Traceparent"] = []string{valid[:53] + "00"}
		if allocations := testing.AllocsPerRun(2000, func() {
			*record = fresh
			tracer.Begin(record, r)
			tracer.Finished(record)
		}); allocations > 0 {
			t.Errorf("%v allocations where the client decided against", allocations)
		}
	})
}

func TestEveryRequestHasAnIdentityOfItsOwn(t *testing.T) {
	const workers, each = 8, 1000
	traced(t, share(0.1), func(tracer *Tracer) {
		var mutex sync.Mutex
		var group sync.WaitGroup
		traces, spans := map[[16]byte]bool{}, map[[8]byte]bool{}
		for range workers {
			group.Go(func() {
				for range each {
					record, r := begun(nil)
					tracer.Begin(record, r)
					if told, ok := parseParent(r.Header.Get("Traceparent")); !ok || told != record.Trace {
						t.Errorf("endpoints see %q, the record says %+v", r.Header.Get("Traceparent"), record.Trace)
					}
					mutex.Lock()
					traces[record.Trace.TraceID], spans[record.Trace.SpanID] = true, true
					mutex.Unlock()
					tracer.Finished(record)
				}
			})
		}
		group.Wait()
		if len(traces) != workers*each || len(spans) != workers*each {
			t.Errorf("%d traces and %d spans of %d requests", len(traces), len(spans), workers*each)
		}
	})
}

// What endpoints receive stays valid while later requests use the same piece of memory.
func TestAHeaderOutlivesItsBatch(t *testing.T) {
	traced(t, share(0), func(tracer *Tracer) {
		first, r := begun(nil)
		tracer.Begin(first, r)
		before := strings.Clone(r.Header.Get("Traceparent"))
		for range 3 * perBatch {
			record, other := begun(nil)
			tracer.Begin(record, other)
		}
		if after := r.Header.Get("Traceparent"); after != before {
			t.Errorf("%q became %q", before, after)
		}
	})
}

func BenchmarkBegin(b *testing.B) {
	for title, of := range map[string]float64{"unsampled": 0, "one in a hundred": 0.01, "sampled": 1} {
		b.Run(title, func(b *testing.B) {
			tracer, err := New(share(of), &keeper{err: errRefused}, &lines{})
			if err != nil {
				b.Fatal(err)
			}
			defer tracer.Shutdown(b.Context()) //nolint:errcheck // The exporter refuses.
			record, r := begun(nil)
			fresh := *record
			b.ReportAllocs()
			for b.Loop() {
				*record = fresh
				delete(r.Header, "Traceparent")
				tracer.Begin(record, r)
				tracer.Finished(record)
			}
		})
	}
}

// TCP connections and UDP sessions have no spans, whatever their routers observe.
func TestConnectionsAreNotTraced(t *testing.T) {
	spans := traced(t, share(1), func(tracer *Tracer) {
		for _, protocol := range []string{telemetry.ProtocolTCP, telemetry.ProtocolUDP} {
			tracer.Finished(&telemetry.Record{Protocol: protocol, Observe: telemetry.ObserveTrace})
		}
	})
	if len(spans) != 0 {
		t.Errorf("%d spans", len(spans))
	}
}
