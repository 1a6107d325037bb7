package tracing

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/sluiceproxy/sluice/telemetry"
)

const (
	exampleTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	exampleSpan  = "00f067aa0ba902b7"
	valid        = "00-" + exampleTrace + "-" + exampleSpan + "-01"
)

func TestParseParent(t *testing.T) {
	tests := map[string]struct {
		text        string
		ok, sampled bool
	}{
		"sampled":              {valid, true, true},
		"not sampled":          {valid[:53] + "00", true, false},
		"further flags":        {valid[:53] + "ff", true, true},
		"random, not sampled":  {valid[:53] + "02", true, false},
		"later version":        {"cc" + valid[2:], true, true},
		"later with more":      {"cc" + valid[2:] + "-what", true, true},
		"later without hyphen": {"cc" + valid[2:] + "what", false, false},
		"more":                 {valid + "-what", false, false},
		"version ff":           {"ff" + valid[2:], false, false},
		"version of letters":   {"xx" + valid[2:], false, false},
		"capitals":             {strings.ToUpper(valid), false, false},
		"no trace":             {"00-" + strings.Repeat("0", 32) + "-" + exampleSpan + "-01", false, false},
		"no span":              {"00-" + exampleTrace + "-" + strings.Repeat("0", 16) + "-01", false, false},
		"short":                {valid[:54], false, false},
		"empty":                {"", false, false},
		"space":                {" " + valid, false, false},
		"other hyphens":        {strings.ReplaceAll(valid, "-", "_"), false, false},
		"flags of letters":     {valid[:53] + "0g", false, false},
	}
	for title, test := range tests {
		got, ok := parseParent(test.text)
		if ok != test.ok || got.Sampled != test.sampled || got.Valid() != test.ok {
			t.Errorf("%s: parseParent(%q) = %+v, %t", title, test.text, got, ok)
		}
		if ok && (trace.TraceID(got.TraceID).String() != exampleTrace || trace.SpanID(got.SpanID).String() != exampleSpan) {
			t.Errorf("%s: identity %x %x", title, got.TraceID, got.SpanID)
		}
	}
}

// FuzzParseParent compares with OpenTelemetry's own reader, which is stricter about unknown flags.
func FuzzParseParent(f *testing.F) {
	for _, seed := range []string{
		valid, valid[:53] + "00", "01" + valid[2:] + "-more", "", "ff" + valid[2:],
		strings.ToUpper(valid),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := parseParent(text)
		reference := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(t.Context(),
			propagation.MapCarrier{"traceparent": text}))
		if reference.IsValid() && (!ok || got.TraceID != reference.TraceID() || got.SpanID != reference.SpanID() ||
			got.Sampled != reference.IsSampled()) {
			t.Errorf("parseParent(%q) = %+v, %t; OpenTelemetry reads %v", text, got, ok, reference)
		}
		if ok && !reference.IsValid() && text[:2] == "00" && text[53:] <= "03" {
			t.Errorf("parseParent(%q) = %+v, which OpenTelemetry does not read", text, got)
		}
		if !ok && got != (telemetry.TraceContext{}) {
			t.Errorf("parseParent(%q) leaves %+v", text, got)
		}
		if ok && text[:2] == "00" {
			if again := got.Traceparent(); string(again[:53]) != text[:53] {
				t.Errorf("%q is written as %q", text, again)
			}
		}
	})
}

func TestState(t *testing.T) {
	tests := map[string]struct {
		values []string
		want   string
	}{
		"none":       {nil, ""},
		"one":        {[]string{"a=1,b=2"}, "a=1,b=2"},
		"several":    {[]string{"a=1", "b=2"}, "a=1,b=2"},
		"malformed":  {[]string{"A=="}, ""},
		"long value": {[]string{"a=" + strings.Repeat("x", longestState)}, ""},
		"long": {func() (all []string) {
			for i := range 9 { // Each of them is as long as it may be.
				all = append(all, fmt.Sprintf("k%d=%s", i, strings.Repeat("x", 256)))
			}
			return all
		}(), ""},
	}
	for title, test := range tests {
		if got := state(http.Header{"Tracestate": test.values}); got.String() != test.want {
			t.Errorf("%s: %q, want %q", title, got, test.want)
		}
	}
}
