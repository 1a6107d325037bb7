package push

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	prom "github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/sluiceproxy/sluice/telemetry/metrics"
)

// scope is the name of the instrumentation scope.
const scope = "github.com/sluiceproxy/sluice"

// producer adds to OpenTelemetry's bridge what a Prometheus family does not hold: units, and attributes that
// are numbers.
type producer struct{ bridge sdkmetric.Producer }

func newProducer(from prom.Gatherer) *producer {
	return &producer{prometheus.NewMetricProducer(prometheus.WithGatherer(prom.GathererFunc(func() (
		[]*dto.MetricFamily, error,
	) {
		families, err := from.Gather()
		if err != nil { // The bridge would drop all families of a gatherer that fails for one.
			otel.Handle(fmt.Errorf("gather metrics: %w", err))
		}
		return families, nil
	})))}
}

// Produce returns all metrics. A metric that cannot be gathered is reported and left out.
func (p *producer) Produce(ctx context.Context) ([]metricdata.ScopeMetrics, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	scopes, err := p.bridge.Produce(ctx)
	for i := range scopes {
		scopes[i].Scope.Name = scope
		for j := range scopes[i].Metrics {
			metric := &scopes[i].Metrics[j]
			metric.Unit = unit(metric.Name)
			if metric.Name == metrics.ServedDuration {
				metric.Unit = "s"
				numberStatus(metric.Data)
			}
		}
	}
	return scopes, err //nolint:wrapcheck // The bridge's errors name the metric.
}

// unit returns the unit that the name of a metric ends with, as OpenTelemetry writes it (UCUM).
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

// numberStatus turns the status of each data point into a number, as the semantic conventions have it.
func numberStatus(data metricdata.Aggregation) {
	switch histogram := data.(type) {
	case metricdata.Histogram[float64]:
		for i := range histogram.DataPoints {
			histogram.DataPoints[i].Attributes = withNumber(histogram.DataPoints[i].Attributes)
		}
	case metricdata.ExponentialHistogram[float64]:
		for i := range histogram.DataPoints {
			histogram.DataPoints[i].Attributes = withNumber(histogram.DataPoints[i].Attributes)
		}
	}
}

// withNumber returns the attributes with http.response.status_code as a number, if they have it.
func withNumber(attributes attribute.Set) attribute.Set {
	const key = attribute.Key("http.response.status_code")
	value, _ := attributes.Value(key)
	status, err := strconv.Atoi(value.AsString())
	if err != nil {
		return attributes
	}
	return attribute.NewSet(append(attributes.ToSlice(), key.Int(status))...) // The last value of a key counts.
}
