package bucket

import (
	"math"
	"testing"
	"time"
)

func TestRates(t *testing.T) {
	for _, test := range []struct {
		average, burst     int64
		period             time.Duration
		interval, capacity int64
	}{
		{10, 1, time.Second, 1e8, 1e8},
		{10, 20, time.Second, 1e8, 2e9},
		{1, 1, time.Second, 1e9, 1e9},
		{6, 2, time.Minute, 1e10, 2e10},
		{3, 1, time.Second, 333333333, 333333333},
		{math.MaxInt64, 1, time.Second, 1, 1},
		{1, math.MaxInt64, math.MaxInt64, longestTime, longestTime},
		{1, math.MaxInt64, time.Second, 1e9, longestTime},
	} {
		got, want := NewRate(test.average, test.period, test.burst), Rate{interval: test.interval, capacity: test.capacity}
		if got != want {
			t.Errorf("%d in %v, burst %d: got %+v, want %+v", test.average, test.period, test.burst, got, want)
		}
	}
}

// TestRatesDoNotOverflow takes from buckets with the largest times that there are.
func TestRatesDoNotOverflow(t *testing.T) {
	largest := Rate{interval: longestTime, capacity: longestTime, delay: int64(longestDelay)}
	for _, now := range []int64{0, 1, longestTime - 1} {
		full, wait, allowed := largest.take(now, now)
		if !allowed || wait != 0 {
			t.Errorf("at %d: allowed %v after %d", now, allowed, wait)
		}
		if _, wait, allowed = largest.take(full, now+1); allowed || wait != longestTime-1 {
			t.Errorf("at %d, again: allowed %v after %d", now, allowed, wait)
		}
	}
}
