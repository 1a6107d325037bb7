package push

import (
	"context"
	"fmt"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/sluiceproxy/sluice/telemetry"
)

// scope is the name of what measures.
const scope = "github.com/sluiceproxy/sluice"

// producer turns what is counted into OpenTelemetry's model.
type producer struct {
	from *telemetry.Pushed
	// began is since when counts count.
	began time.Time
}

// Produce returns all metrics. What cannot be gathered does not take the rest along.
func (p *producer) Produce(ctx context.Context) ([]metricdata.ScopeMetrics, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	families, err := p.from.Gather()
	if err != nil {
		otel.Handle(fmt.Errorf("gather metrics: %w", err))
	}
	now := time.Now()
	metrics := make([]metricdata.Metrics, 0, len(families))
	for _, family := range families {
		c := conversion{family: family, began: p.began, now: now}
		if data := c.data(); data != nil {
			metrics = append(metrics, metricdata.Metrics{
				Name: family.GetName(), Description: family.GetHelp(), Unit: unit(family.GetName()), Data: data,
			})
		}
	}
	counted := requests{began: p.began, now: now, bounds: p.from.Bounds()}
	p.from.Requests(&counted)
	counted.finish()
	metrics = append(append(metrics, counted.out...), served(p.from, p.began, now)...)
	return []metricdata.ScopeMetrics{{Scope: instrumentation.Scope{Name: scope}, Metrics: metrics}}, nil
}

// unit returns the unit that a name ends with, as OpenTelemetry writes it.
func unit(name string) string {
	name = strings.TrimSuffix(name, "_total")
	switch {
	case strings.HasSuffix(name, "_seconds"):
		return "s"
	case strings.HasSuffix(name, "_bytes"):
		return "By"
	}
	return ""
}

// conversion converts one family.
type conversion struct {
	family     *dto.MetricFamily
	began, now time.Time
}

// data returns the family's data, or nil for what OpenTelemetry has no form.
func (c conversion) data() metricdata.Aggregation {
	metrics := c.family.GetMetric()
	if len(metrics) == 0 {
		return nil
	}
	switch c.family.GetType() {
	case dto.MetricType_COUNTER:
		return metricdata.Sum[float64]{
			DataPoints: c.points(), Temporality: metricdata.CumulativeTemporality, IsMonotonic: true,
		}
	case dto.MetricType_GAUGE, dto.MetricType_UNTYPED:
		return metricdata.Gauge[float64]{DataPoints: c.points()}
	case dto.MetricType_SUMMARY:
		return c.summary()
	case dto.MetricType_HISTOGRAM:
		if len(metrics[0].GetHistogram().GetBucket()) == 0 {
			return c.exponential()
		}
		return c.explicit()
	case dto.MetricType_GAUGE_HISTOGRAM:
	}
	return nil
}

// points returns counters and gauges.
func (c conversion) points() []metricdata.DataPoint[float64] {
	points := make([]metricdata.DataPoint[float64], 0, len(c.family.GetMetric()))
	for _, metric := range c.family.GetMetric() {
		point := metricdata.DataPoint[float64]{Attributes: attributes(metric), Time: c.now}
		switch c.family.GetType() {
		case dto.MetricType_COUNTER:
			point.StartTime, point.Value = c.began, metric.GetCounter().GetValue()
		case dto.MetricType_GAUGE:
			point.Value = metric.GetGauge().GetValue()
		default:
			point.Value = metric.GetUntyped().GetValue()
		}
		points = append(points, point)
	}
	return points
}

// summary returns quantiles.
func (c conversion) summary() metricdata.Summary {
	var summary metricdata.Summary
	for _, metric := range c.family.GetMetric() {
		from := metric.GetSummary()
		point := metricdata.SummaryDataPoint{
			Attributes: attributes(metric), StartTime: c.began, Time: c.now, Count: from.GetSampleCount(), Sum: from.GetSampleSum(),
		}
		for _, quantile := range from.GetQuantile() {
			point.QuantileValues = append(point.QuantileValues, metricdata.QuantileValue{Quantile: quantile.GetQuantile(), Value: quantile.GetValue()})
		}
		summary.DataPoints = append(summary.DataPoints, point)
	}
	return summary
}

func attributes(metric *dto.Metric) attribute.Set {
	labels := make([]attribute.KeyValue, 0, len(metric.GetLabel()))
	for _, label := range metric.GetLabel() {
		labels = append(labels, attribute.String(label.GetName(), label.GetValue()))
	}
	return attribute.NewSet(labels...)
}
