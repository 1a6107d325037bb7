package kubernetes

import (
	"testing"
	"time"
)

func TestShareOfTimes(t *testing.T) {
	var all times
	for i := range 200 {
		all = append(all, time.Duration(200-i)*time.Millisecond)
	}
	for percent, want := range map[int]time.Duration{
		1: 2 * time.Millisecond, 50: 100 * time.Millisecond,
		99: 198 * time.Millisecond, 100: 200 * time.Millisecond,
	} {
		if got := all.share(percent); got != want {
			t.Errorf("%d %% took at most %v, want %v", percent, got, want)
		}
	}
}

func TestBuckets(t *testing.T) {
	const before = "# TYPE x_seconds histogram\nx_seconds_bucket{le=\"0.001\"} 1\nx_seconds_bucket{le=\"0.01\"} " +
		"1\nx_seconds_bucket{le=\"+Inf\"} 1\nx_seconds_sum 3\n"
	const after = "x_seconds_bucket{le=\"0.001\"} 98\nx_seconds_bucket{le=\"0.01\"} " +
		"100\nx_seconds_bucket{le=\"+Inf\"} 101\n"
	first, err := readBuckets(before, "x_seconds")
	if err != nil {
		t.Fatal(err)
	}
	second, err := readBuckets(after, "x_seconds")
	if err != nil {
		t.Fatal(err)
	}
	fresh := since(first, second)
	for percent, want := range map[float64]float64{50: 1, 97: 1, 98: 10, 99: 10} {
		if got := atMost(fresh, percent); got != want {
			t.Errorf("%v %% are within %v ms, want %v", percent, got, want)
		}
	}
	if _, err := readBuckets(after, "y_seconds"); err == nil {
		t.Error("a histogram that is not there has been read")
	}
}
