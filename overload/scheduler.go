package overload

import (
	"math"
	"runtime/metrics"
	"slices"
	"time"
)

const (
	// fewest is the number of waits from which on their percentile means something.
	fewest = 20
	// longestWindow is the time after which fewer are taken, or none.
	longestWindow = time.Second
	// percentile is the part of the waits that are not longer.
	percentile = 0.99
)

// scheduler is the monitor of Scheduler.
type scheduler struct {
	latency time.Duration
	read    func() *metrics.Float64Histogram

	// before has the counts at the beginning of the window, which began at the time since.
	before   []uint64
	since    time.Time
	wait     time.Duration
	pressure float64
}

// Scheduler returns a monitor of how long runnable goroutines wait for a CPU: the pressure is 0.9 where the 99th
// percentile of the waits since the last sample is the latency, which is above 0. Where there are less than 20
// waits, those of up to a second count together. read returns the histogram of all waits in seconds since the process
// began, nil without one, and its result may change at the next call; nil is that of the runtime.
func Scheduler(latency time.Duration, read func() *metrics.Float64Histogram) Queue {
	if read == nil {
		read = runtimeLatencies()
	}
	return &scheduler{latency: latency, read: read}
}

// Pressure implements Monitor.
func (s *scheduler) Pressure(now time.Time) float64 {
	histogram := s.read()
	if histogram == nil {
		return 0
	}
	if len(s.before) != len(histogram.Counts) {
		s.before, s.since, s.pressure = slices.Clone(histogram.Counts), now, 0
		return 0
	}
	var waits uint64
	for i, count := range histogram.Counts {
		waits += count - s.before[i]
	}
	if waits < fewest && now.Sub(s.since) < longestWindow {
		return s.pressure
	}
	wait := s.quantile(histogram, waits)
	s.wait, s.pressure = time.Duration(wait*float64(time.Second)), wait/s.latency.Seconds()*atOption
	s.since = now
	copy(s.before, histogram.Counts)
	return s.pressure
}

// Measured implements Queue.
func (s *scheduler) Measured() (wait time.Duration, at time.Time) { return s.wait, s.since }

// quantile returns the percentile of a number of waits since the window began, in seconds. Within a bucket they are
// taken to be spread evenly; those of the bucket without an upper bound count as its lower one.
func (s *scheduler) quantile(histogram *metrics.Float64Histogram, waits uint64) float64 {
	if waits == 0 {
		return 0
	}
	rank, seen := percentile*float64(waits), 0.0
	for i, count := range histogram.Counts {
		count := float64(count - s.before[i])
		if count == 0 || seen+count < rank {
			seen += count
			continue
		}
		low, high := max(histogram.Buckets[i], 0), histogram.Buckets[i+1]
		if math.IsInf(high, 1) {
			return low
		}
		return low + (high-low)*(rank-seen)/count
	}
	return 0
}

// runtimeLatencies returns a function that reads the histogram of the runtime.
func runtimeLatencies() func() *metrics.Float64Histogram {
	samples := []metrics.Sample{{Name: "/sched/latencies:seconds"}}
	return func() *metrics.Float64Histogram {
		metrics.Read(samples)
		if samples[0].Value.Kind() != metrics.KindFloat64Histogram {
			return nil
		}
		return samples[0].Value.Float64Histogram()
	}
}
