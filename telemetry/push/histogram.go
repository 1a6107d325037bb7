package push

import (
	"math"

	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// explicit returns classic buckets, which are cumulative in Prometheus and not in OpenTelemetry.
func (c conversion) explicit() metricdata.Histogram[float64] {
	h := metricdata.Histogram[float64]{Temporality: metricdata.CumulativeTemporality}
	for _, metric := range c.family.GetMetric() {
		from := metric.GetHistogram()
		point := metricdata.HistogramDataPoint[float64]{
			Attributes: attributes(metric), StartTime: c.began, Time: c.now, Count: from.GetSampleCount(), Sum: from.GetSampleSum(),
		}
		below := uint64(0)
		for _, bucket := range from.GetBucket() {
			if math.IsInf(bucket.GetUpperBound(), 1) { // Implied in OpenTelemetry.
				continue
			}
			point.Bounds = append(point.Bounds, bucket.GetUpperBound())
			point.BucketCounts = append(point.BucketCounts, bucket.GetCumulativeCount()-below)
			below = bucket.GetCumulativeCount()
		}
		point.BucketCounts = append(point.BucketCounts, from.GetSampleCount()-below)
		h.DataPoints = append(h.DataPoints, point)
	}
	return h
}

// exponential returns native buckets.
func (c conversion) exponential() metricdata.ExponentialHistogram[float64] {
	h := metricdata.ExponentialHistogram[float64]{Temporality: metricdata.CumulativeTemporality}
	for _, metric := range c.family.GetMetric() {
		from := metric.GetHistogram()
		h.DataPoints = append(h.DataPoints, metricdata.ExponentialHistogramDataPoint[float64]{
			Attributes: attributes(metric), StartTime: c.began, Time: c.now, Count: from.GetSampleCount(), Sum: from.GetSampleSum(),
			Scale: from.GetSchema(), ZeroCount: from.GetZeroCount(), ZeroThreshold: from.GetZeroThreshold(),
			PositiveBucket: buckets(from.GetPositiveSpan(), from.GetPositiveDelta()),
			NegativeBucket: buckets(from.GetNegativeSpan(), from.GetNegativeDelta()),
		})
	}
	return h
}

// buckets returns all counts from the first bucket on. Prometheus numbers a bucket by its upper bound, OpenTelemetry by its lower one.
func buckets(spans []*dto.BucketSpan, deltas []int64) metricdata.ExponentialBucket {
	var b metricdata.ExponentialBucket
	if len(deltas) == 0 {
		return b
	}
	b.Offset = spans[0].GetOffset() - 1
	count := int64(0)
	for i, span := range spans {
		if i > 0 {
			b.Counts = append(b.Counts, make([]uint64, span.GetOffset())...)
		}
		for range span.GetLength() {
			count += deltas[0]
			deltas = deltas[1:]
			b.Counts = append(b.Counts, uint64(count))
		}
	}
	return b
}
