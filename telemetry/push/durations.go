package push

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/sluiceproxy/sluice/telemetry"
)

// room is for how many histograms memory is allocated at once.
const room = 256

// durations makes one histogram of many: with explicit bounds, or exponential where there are none.
type durations struct {
	bounds      []float64
	began, now  time.Time
	explicit    []metricdata.HistogramDataPoint[float64]
	exponential []metricdata.ExponentialHistogramDataPoint[float64]
	// free is memory for buckets.
	free []uint64
}

// add adds what has these attributes.
func (d *durations) add(set attribute.Set, from *telemetry.Durations) {
	if len(d.bounds) == 0 {
		d.exponential = append(d.exponential, metricdata.ExponentialHistogramDataPoint[float64]{
			Attributes: set, StartTime: d.began, Time: d.now, Count: from.Count, Sum: from.Seconds,
			Scale: int32(from.Scale), ZeroCount: from.Zero, ZeroThreshold: from.ZeroBelow, PositiveBucket: filled(from.Buckets),
		})
		return
	}
	d.explicit = append(d.explicit, metricdata.HistogramDataPoint[float64]{
		Attributes: set, StartTime: d.began, Time: d.now, Count: from.Count, Sum: from.Seconds, Bounds: d.bounds, BucketCounts: d.between(from),
	})
}

// between returns how many there are between the bounds, and beyond the last.
func (d *durations) between(from *telemetry.Durations) []uint64 {
	size := len(d.bounds) + 1
	if len(d.free) < size {
		d.free = make([]uint64, room*size)
	}
	counts, below := d.free[:size:size], uint64(0)
	d.free = d.free[size:]
	for i, until := range from.Below {
		counts[i] = until - below
		below = until
	}
	counts[size-1] = from.Count - below
	return counts
}

// filled returns all counts from the first bucket on that holds something to the last.
func filled(buckets []telemetry.DurationBucket) metricdata.ExponentialBucket {
	if len(buckets) == 0 {
		return metricdata.ExponentialBucket{}
	}
	first := buckets[0].Index
	b := metricdata.ExponentialBucket{Offset: int32(first), Counts: make([]uint64, buckets[len(buckets)-1].Index-first+1)}
	for _, bucket := range buckets {
		b.Counts[bucket.Index-first] = bucket.Count
	}
	return b
}

// data returns the histogram; nil where nothing has been added.
func (d *durations) data() metricdata.Aggregation {
	switch {
	case len(d.explicit) > 0:
		return metricdata.Histogram[float64]{DataPoints: d.explicit, Temporality: metricdata.CumulativeTemporality}
	case len(d.exponential) > 0:
		return metricdata.ExponentialHistogram[float64]{DataPoints: d.exponential, Temporality: metricdata.CumulativeTemporality}
	}
	return nil
}
