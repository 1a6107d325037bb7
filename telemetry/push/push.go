// Package push sends metrics to an OpenTelemetry collector.
//
// OpenTelemetry's Prometheus bridge converts the families of the metrics page to OpenTelemetry's model, with
// their names, and the duration of requests as the semantic conventions name it. A periodic reader of the SDK
// sends them to the exporter.
package push

import (
	"context"
	"errors"
	"fmt"
	"time"

	prom "github.com/prometheus/client_golang/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry/metrics"
	"github.com/sluiceproxy/sluice/telemetry/otlp"
)

// errInterval is returned for a metrics.otlp.pushInterval that is not positive.
var errInterval = errors.New("it must be more than 0")

// Push sends metrics until it is shut down.
type Push struct{ provider *sdkmetric.MeterProvider }

// View returns the pushed metrics of the options, for metrics.Options. With an empty list of
// explicitBoundaries, durations are pushed as exponential histograms.
func View(config static.MetricOTLP) *metrics.View {
	return &metrics.View{
		Buckets: config.ExplicitBoundaries, EntryPoints: config.AddEntryPointsLabels, Routers: config.AddRoutersLabels,
		Services: config.AddServicesLabels,
	}
}

// New begins to send what is pushed to the exporter, every pushInterval. What cannot be sent is sent with the
// next push: counts are those since Sluice began. Failures go to OpenTelemetry's error handler.
func New(config static.MetricOTLP, from prom.Gatherer, exporter sdkmetric.Exporter) (*Push, error) {
	interval := time.Duration(config.PushInterval)
	if interval <= 0 {
		return nil, fmt.Errorf("metrics.otlp.pushInterval: %v: %w", interval, errInterval)
	}
	reader := sdkmetric.NewPeriodicReader(exporter, sdkmetric.WithInterval(interval),
		sdkmetric.WithTimeout(max(interval, patience)),
		sdkmetric.WithProducer(newProducer(from)))
	return &Push{sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader),
		sdkmetric.WithResource(otlp.Resource(config.ServiceName, config.ResourceAttributes)))}, nil
}

// patience is how long a push may take at least.
const patience = 10 * time.Second

// Flush sends the current metrics.
func (p *Push) Flush(ctx context.Context) error { return p.provider.ForceFlush(ctx) }

// Shutdown sends the metrics once more, and then no more. It takes no longer than the context allows.
func (p *Push) Shutdown(ctx context.Context) error { return p.provider.Shutdown(ctx) }
