package tracing

import (
	"net/http"
	"testing"

	"github.com/sluiceproxy/sluice/telemetry"
)

// Where a router says so, the header of a request without one stays as it is, and the record says that it does
// not tell.
func TestATraceApartFromTheHeader(t *testing.T) {
	tests := map[string]struct {
		share  float64
		header http.Header
		apart  bool
	}{
		"not sampled":                    {0, nil, true},
		"not sampled, with a tracestate": {0, http.Header{"Tracestate": {"a=1"}}, true},
		"sampled":                        {1, nil, false},
		"malformed":                      {0, http.Header{"Traceparent": {"nothing"}}, false},
		"empty":                          {0, http.Header{"Traceparent": {""}}, false},
		"client decided against":         {1, http.Header{"Traceparent": {valid[:53] + "00"}}, false},
		"client decided for":             {0, http.Header{"Traceparent": {valid}}, false},
	}
	for title, test := range tests {
		traced(t, share(test.share), func(tracer *Tracer) {
			record, r := begun(test.header.Clone())
			record.TraceApart = true
			tracer.Begin(record, r)
			if record.TraceApart != test.apart || !record.Trace.Valid() || len(r.Header["Tracestate"]) > 0 {
				t.Errorf("%s: apart is %t, the trace %+v, the header %v", title, record.TraceApart, record.Trace, r.Header)
			}
			told, ok := parent(r.Header["Traceparent"])
			if ok == test.apart || ok && told != record.Trace {
				t.Errorf("%s: the header has %+v, the record %+v", title, told, record.Trace)
			}
			tracer.Finished(record)
		})
	}
	untraced, r := begun(nil)
	untraced.Observe, untraced.TraceApart = telemetry.ObserveMetrics, false
	traced(t, share(1), func(tracer *Tracer) { tracer.Begin(untraced, r) })
	if untraced.TraceApart || untraced.Trace.Valid() {
		t.Errorf("a request that is not traced has %+v", untraced.Trace)
	}
}
