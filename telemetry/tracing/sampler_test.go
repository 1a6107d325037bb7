package tracing

import (
	"math"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// Parts of a trace that decide by the same share must decide alike, whatever made them.
func TestTheSamplerDecidesAsOpenTelemetryDoes(t *testing.T) {
	for _, share := range []float64{0, 1e-9, 0.01, 0.25, 0.5, 0.999, 1} {
		own, err := newSampler(share)
		if err != nil {
			t.Fatal(err)
		}
		reference, sampled := sdktrace.TraceIDRatioBased(share), 0
		for range 20_000 {
			id := newTraceID()
			want := reference.ShouldSample(sdktrace.SamplingParameters{
				ParentContext: t.Context(),
				TraceID:       id,
			}).Decision == sdktrace.RecordAndSample
			if own.samples(id) != want {
				t.Fatalf("share %v, trace %x: %t, OpenTelemetry says %t", share, id, !want, want)
			}
			if want {
				sampled++
			}
		}
		if lowest := [16]byte{0: 1}; own.samples(lowest) != (share > 0) {
			t.Errorf("share %v: trace %x is sampled: %t", share, lowest, own.samples(lowest))
		}
		if got := float64(sampled) / 20_000; math.Abs(got-share) > 0.02 {
			t.Errorf("share %v: %v are sampled", share, got)
		}
	}
}

func TestSharesThatAreNone(t *testing.T) {
	for _, share := range []float64{-0.1, 1.1, math.NaN(), math.Inf(1)} {
		if _, err := newSampler(share); err == nil {
			t.Errorf("%v is a share", share)
		}
	}
}
