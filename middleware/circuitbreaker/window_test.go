package circuitbreaker

import (
	"math"
	"sync"
	"testing"
	"time"
)

func TestBins(t *testing.T) {
	last := -1
	for ms := range maxLatency + 2 {
		got := bin(time.Duration(ms) * time.Millisecond)
		if got < last || got > last+1 || got >= bins {
			t.Fatalf("%d ms is in bin %d, the one before in %d", ms, got, last)
		}
		last = got
		low := floor(got)
		if ms <= maxLatency && (low > ms || float64(ms-low) > 0.032*float64(ms)) {
			t.Fatalf("%d ms counts as %d", ms, low)
		}
		if ms < exactBins && low != ms {
			t.Fatalf("%d ms counts as %d", ms, low)
		}
	}
	if last != bins-1 {
		t.Errorf("%d of %d bins are used", last+1, bins)
	}
	for _, latency := range []time.Duration{-time.Hour, -1, 0, time.Millisecond - 1} {
		if bin(latency) != 0 {
			t.Errorf("%v is in bin %d", latency, bin(latency))
		}
	}
	if bin(math.MaxInt64) != bins-1 {
		t.Errorf("a long time is in bin %d", bin(math.MaxInt64))
	}
}

func TestWindowsMove(t *testing.T) {
	e, err := parse("NetworkErrorRatio() > 1 || LatencyAtQuantileMS(100.0) > 1")
	if err != nil {
		t.Fatal(err)
	}
	w := newWindow(e)
	start := 1000 * time.Second
	w.count(start, 502)
	w.took(start, 50*time.Millisecond)
	for _, test := range []struct {
		after    time.Duration
		requests uint64
		latency  float64
	}{
		{0, 1, 50},
		{9 * time.Second, 1, 50},
		{10 * time.Second, 0, 50},
		{59 * time.Second, 0, 50},
		{60 * time.Second, 0, 0},
	} {
		now := start + test.after
		if got := w.requests(now); got != test.requests {
			t.Errorf("after %v there are %d requests", test.after, got)
		}
		if got := w.quantile(now, 100); got != test.latency {
			t.Errorf("after %v the latency is %v", test.after, got)
		}
	}
	// A slot is used again for another time, and only then.
	w.count(start+10*time.Second, 200)
	w.count(start+500*time.Millisecond, 200) // comes late
	if got := w.requests(start + 10*time.Second); got != 2 {
		t.Errorf("there are %d requests", got)
	}
	if got := w.networkErrors(start + 10*time.Second); got != 0 {
		t.Errorf("the ratio is %v", got)
	}
}

func TestBrokenResponsesOfLongAgo(t *testing.T) {
	w := newWindow(new(expression))
	w.broke(0)
	if got := w.networkErrors(0); got != 1 {
		t.Errorf("the ratio is %v", got)
	}
}

func TestCountsAreExactWhenManyCount(t *testing.T) {
	e, err := parse("ResponseCodeRatio(500, 600, 0, 600) > 1 || LatencyAtQuantileMS(50.0) > 1")
	if err != nil {
		t.Fatal(err)
	}
	w := newWindow(e)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 5000 {
				now := time.Duration(i) * time.Millisecond // all pass through five slots together
				w.count(now, 200+300*(i%2))
				w.took(now, time.Millisecond)
			}
		})
	}
	all.Wait()
	now := 5 * time.Second
	if n, ratio := w.requests(now), w.ratio(now, firstRange, firstRange+1); n != 40000 || ratio != 0.5 {
		t.Errorf("%d requests, ratio %v", n, ratio)
	}
}
