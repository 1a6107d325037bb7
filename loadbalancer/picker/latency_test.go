package picker

import (
	"math"
	"slices"
	"testing"
	"time"
	"unsafe"
)

func observed(samples ...time.Duration) *Latency {
	latency := &Latency{}
	for _, sample := range samples {
		latency.Observe(sample, false, time.Second)
	}
	return latency
}

func about(got float64, want time.Duration, percent float64) bool {
	return math.Abs(got-float64(want)) <= float64(want)*percent/100
}

func TestPeakRisesFastAndFallsSlowly(t *testing.T) {
	const fast, slow = 10 * time.Millisecond, 100 * time.Millisecond
	latency := observed(fast)
	if got := latency.peakAt(time.Second).latency; !about(got, fast, 0.1) {
		t.Errorf("one sample of %v gives %v", fast, time.Duration(got))
	}
	latency.Observe(time.Hour, false, time.Second)
	if got := latency.peakAt(time.Second).latency; got > 2*float64(fast) {
		t.Errorf("a single outlier gives %v", time.Duration(got))
	}
	latency = observed(fast, slow, slow, slow, slow, slow)
	if got := latency.peakAt(time.Second).latency; got < 5*float64(fast) {
		t.Errorf("five samples of %v after one of %v give %v", slow, fast, time.Duration(got))
	}
	up := latency.peakAt(time.Second).latency
	latency.Observe(fast, false, time.Second)
	if got := latency.peakAt(time.Second).latency; got < up*0.9 || got >= up {
		t.Errorf("one fast sample takes %v to %v", time.Duration(up), time.Duration(got))
	}
}

func TestMeanOfTheLastHundred(t *testing.T) {
	latency := &Latency{}
	for range 3 {
		if got := latency.meanAt(time.Second).latency; got != 0 {
			t.Errorf("less than %d samples have a mean of %v", few, time.Duration(got))
		}
		for _, sample := range []time.Duration{10, 20, 60} {
			latency.Observe(sample*time.Millisecond, false, time.Second)
		}
	}
	if got := latency.meanAt(time.Second).latency; !about(got, 30*time.Millisecond, 0.1) {
		t.Errorf("the mean of 10, 20 and 60 ms is %v", time.Duration(got))
	}
	for range 3 * window {
		latency.Observe(100*time.Millisecond, false, time.Second)
	}
	if got := latency.meanAt(time.Second).latency; !about(got, 100*time.Millisecond, 1) {
		t.Errorf("after 300 samples of 100 ms the mean is %v", time.Duration(got))
	}
}

func TestLatenciesDecay(t *testing.T) {
	latency := observed(slices.Repeat([]time.Duration{100 * time.Millisecond}, 20)...)
	latency.Observe(time.Millisecond, true, time.Second)
	failing := latency.peakAt(time.Second).failing
	for _, at := range []func(time.Duration) speed{latency.peakAt, latency.meanAt} {
		for lives, want := range map[float64]time.Duration{0: 100e6, 1: 50e6, 2: 25e6, 4: 6250e3} {
			idle := time.Second + time.Duration(lives*float64(halfLife))
			if got := at(idle); !about(got.latency, want, 2) || math.Abs(got.failing/failing*math.Pow(4, lives)-1) > 0.03 {
				t.Errorf("after %v half-lives the latency is %v, want %v; failures count %v", lives, time.Duration(got.latency),
					want, got.failing)
			}
		}
		last := math.Inf(1)
		for idle := time.Second; idle < 5*time.Minute; idle += 10 * time.Millisecond {
			got := at(idle).latency
			if got > last || got <= 0 {
				t.Fatalf("after %v the latency is %v, before that it was %v", idle, got, last)
			}
			last = got
		}
	}
	// Samples of long ago do not come back with the next one.
	later := time.Second + 10*halfLife
	for range few {
		latency.Observe(10*time.Millisecond, false, later)
	}
	for _, at := range []func(time.Duration) speed{latency.peakAt, latency.meanAt} {
		if got := at(later); !about(got.latency, 10*time.Millisecond, 5) || got.failing > 1e-3 {
			t.Errorf("a sample of 10 ms after a minute gives %v, failures count %v", time.Duration(got.latency), got.failing)
		}
	}
}

func TestFailuresAreSlow(t *testing.T) {
	latency := observed(10 * time.Millisecond)
	if got := latency.peakAt(time.Second).failing; got != 0 {
		t.Errorf("without a failure %v count", got)
	}
	last := 0.0
	for range 10 {
		latency.Observe(time.Microsecond, true, time.Second)
		got := latency.peakAt(time.Second)
		if got.failing <= last || got.failing > failureCost {
			t.Errorf("one more failure takes %v to %v", last, got.failing)
		}
		if !about(got.latency, 10*time.Millisecond, 0.1) {
			t.Errorf("a failure that came fast makes the latency %v", time.Duration(got.latency))
		}
		last = got.failing
	}
	if last < 0.8*failureCost {
		t.Errorf("ten failures in a row count %v", last)
	}
	for range 60 {
		latency.Observe(10*time.Millisecond, false, time.Second)
	}
	if got := latency.peakAt(time.Second).failing; got != 0 {
		t.Errorf("after 60 answers failures still count %v", got)
	}
	slow := observed(10 * time.Millisecond)
	slow.Observe(30*time.Millisecond, true, time.Second)
	if got := slow.peakAt(time.Second).latency; !about(got, 15*time.Millisecond, 1) {
		t.Errorf("a failure that came late makes the latency %v", time.Duration(got))
	}
}

// TestSamplesMayOvertake has a sample that is older than the last one, and one without any time.
func TestSamplesMayOvertake(t *testing.T) {
	latency := &Latency{}
	latency.Observe(10*time.Millisecond, false, time.Minute)
	latency.Observe(10*time.Millisecond, false, time.Second)
	if got := latency.peakAt(time.Minute).latency; !about(got, 10*time.Millisecond, 1) {
		t.Errorf("an older sample makes the latency %v", time.Duration(got))
	}
	if got := latency.peakAt(0).latency; !about(got, 10*time.Millisecond, 1) {
		t.Errorf("before the last sample the latency is %v", time.Duration(got))
	}
	latency = &Latency{}
	latency.Observe(-time.Second, false, 0)
	if got := latency.peakAt(0).latency; got != 1 {
		t.Errorf("a negative sample counts %v ns", got)
	}
}

func TestLatencyIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(Latency{}); size > 24 {
		t.Errorf("a latency takes %d bytes", size)
	}
}
