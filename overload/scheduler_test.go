package overload_test

import (
	"math"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/overload"
)

// histogram returns one with three buckets: to 1 ms, to 10 ms, and longer.
func histogram() *metrics.Float64Histogram {
	return &metrics.Float64Histogram{
		Counts: make([]uint64, 3), Buckets: []float64{math.Inf(-1), 0.001, 0.01, math.Inf(1)},
	}
}

func TestPercentileOfWaits(t *testing.T) {
	for _, test := range []struct {
		name   string
		counts [3]uint64
		want   float64
	}{
		{"short ones", [3]uint64{1000, 0, 0}, 0.099 * 0.9},
		{"a few longer ones", [3]uint64{995, 5, 0}, 990. / 995 * 0.1 * 0.9},
		{"in the middle of a bucket", [3]uint64{980, 20, 0}, 0.55 * 0.9},
		{"beyond all bounds", [3]uint64{900, 0, 100}, 0.9},
	} {
		t.Run(test.name, func(t *testing.T) {
			read := histogram()
			read.Counts[2] = 1 << 40 // Before the first sample.
			monitor := overload.Scheduler(10*time.Millisecond, func() *metrics.Float64Histogram { return read })
			now := time.Now()
			if first := monitor.Pressure(now); first != 0 {
				t.Errorf("the first sample is %v", first)
			}
			for i, count := range test.counts {
				read.Counts[i] += count
			}
			if got := monitor.Pressure(now.Add(interval)); math.Abs(got-test.want) > 1e-9 {
				t.Errorf("the pressure is %v, want %v", got, test.want)
			}
		})
	}
}

// TestFewWaitsCountTogether has so few that the last pressure stays, for a second.
func TestFewWaitsCountTogether(t *testing.T) {
	read := histogram()
	monitor := overload.Scheduler(10*time.Millisecond, func() *metrics.Float64Histogram { return read })
	now := time.Now()
	monitor.Pressure(now)
	for range 9 {
		now = now.Add(interval)
		read.Counts[2]++
		if got := monitor.Pressure(now); got != 0 {
			t.Fatalf("a few waits are a pressure of %v", got)
		}
	}
	now = now.Add(interval)
	if got := monitor.Pressure(now); got != 0.9 {
		t.Errorf("nine waits in a second are a pressure of %v, want 0.9", got)
	}
	for range 9 {
		now = now.Add(interval)
		if got := monitor.Pressure(now); got != 0.9 {
			t.Errorf("without waits the pressure is %v within a second", got)
		}
	}
	if got := monitor.Pressure(now.Add(interval)); got != 0 {
		t.Errorf("a second without waits is a pressure of %v", got)
	}
}

func TestNoHistogramIsNoPressure(t *testing.T) {
	monitor := overload.Scheduler(time.Millisecond, func() *metrics.Float64Histogram { return nil })
	if got := monitor.Pressure(time.Now()); got != 0 {
		t.Error(got)
	}
}

// TestWaitsOfTheRuntime reads those of this process.
func TestWaitsOfTheRuntime(t *testing.T) {
	monitor := overload.Scheduler(time.Nanosecond, nil)
	now := time.Now()
	monitor.Pressure(now)
	done := make(chan struct{})
	for range 1000 {
		go func() { done <- struct{}{} }()
		<-done
	}
	if got := monitor.Pressure(now.Add(2 * time.Second)); got <= 0 {
		t.Errorf("a thousand goroutines are a pressure of %v", got)
	}
}

func TestCount(t *testing.T) {
	if got := overload.Count(func() int64 { return 30 }, 40).Pressure(time.Now()); got != 0.75 {
		t.Error(got)
	}
}
