package telemetry

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestTraceparent(t *testing.T) {
	for range 10_000 {
		var of TraceContext
		for i := range of.TraceID {
			of.TraceID[i] = byte(rand.Uint32())
		}
		for i := range of.SpanID {
			of.SpanID[i] = byte(rand.Uint32())
		}
		flags := "00"
		if of.Sampled = rand.IntN(2) == 1; of.Sampled {
			flags = "01"
		}
		got := of.Traceparent()
		if want := fmt.Sprintf("00-%x-%x-%s", of.TraceID, of.SpanID, flags); string(got[:]) != want {
			t.Fatalf("%q, want %q", got, want)
		}
	}
}
