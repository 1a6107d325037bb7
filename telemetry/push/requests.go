package push

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/sluiceproxy/sluice/telemetry"
)

// requests turns what is counted for each request into OpenTelemetry's model, without a model in between: there may be thousands of routers.
type requests struct {
	began, now time.Time
	bounds     []float64
	out        []metricdata.Metrics
	// families are those of the level that is read; the rest is what it has.
	families                       telemetry.RequestFamilies
	counts, secure, received, sent []metricdata.DataPoint[float64]
	durations                      durations
	labels                         []attribute.KeyValue
}

// Level begins a level.
func (r *requests) Level(families telemetry.RequestFamilies) {
	r.finish()
	r.families = families
	r.durations = durations{bounds: r.bounds, began: r.began, now: r.now}
}

// Cell adds the metrics of a cell, which have the same attributes but for the headers.
func (r *requests) Cell(counts *telemetry.RequestCounts) {
	set := r.set(counts.Labels, nil)
	for _, part := range counts.Parts {
		own := set
		if len(part.More) > 0 {
			own = r.set(counts.Labels, part.More)
		}
		r.counts = append(r.counts, r.point(own, part.Count))
	}
	r.received = append(r.received, r.point(set, counts.Received))
	r.sent = append(r.sent, r.point(set, counts.Sent))
	r.durations.add(set, &counts.Durations)
}

// Secure adds a count of requests over TLS.
func (r *requests) Secure(labels []telemetry.Label, count uint64) {
	r.secure = append(r.secure, r.point(r.set(labels, nil), count))
}

// finish ends a level, if one has begun.
func (r *requests) finish() {
	r.sum(r.families.Requests, r.counts)
	r.sum(r.families.Secure, r.secure)
	r.sum(r.families.Received, r.received)
	r.sum(r.families.Sent, r.sent)
	if data := r.durations.data(); data != nil {
		r.add(r.families.Durations, data)
	}
	r.counts, r.secure, r.received, r.sent = nil, nil, nil, nil
}

// sum adds a counter that has counted something.
func (r *requests) sum(family telemetry.Family, points []metricdata.DataPoint[float64]) {
	if len(points) > 0 {
		r.add(family, metricdata.Sum[float64]{DataPoints: points, Temporality: metricdata.CumulativeTemporality, IsMonotonic: true})
	}
}

func (r *requests) add(family telemetry.Family, data metricdata.Aggregation) {
	r.out = append(r.out, metricdata.Metrics{Name: family.Name, Description: family.Help, Unit: unit(family.Name), Data: data})
}

func (r *requests) point(set attribute.Set, count uint64) metricdata.DataPoint[float64] {
	return metricdata.DataPoint[float64]{Attributes: set, StartTime: r.began, Time: r.now, Value: float64(count)}
}

// set returns labels as attributes.
func (r *requests) set(labels, more []telemetry.Label) attribute.Set {
	r.labels = r.labels[:0]
	for _, label := range labels {
		r.labels = append(r.labels, attribute.String(label.Name, label.Value))
	}
	for _, label := range more {
		r.labels = append(r.labels, attribute.String(label.Name, label.Value))
	}
	return attribute.NewSet(r.labels...)
}
