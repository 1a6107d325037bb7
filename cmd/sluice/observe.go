package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/accesslog"
	"github.com/sluiceproxy/sluice/telemetry/log"
	"github.com/sluiceproxy/sluice/telemetry/metrics"
	"github.com/sluiceproxy/sluice/telemetry/otlp"
	"github.com/sluiceproxy/sluice/telemetry/push"
	"github.com/sluiceproxy/sluice/telemetry/tracing"
)

// lastSend is how long the last data for collectors may take when Sluice stops.
const lastSend = 5 * time.Second

// observability is what records requests. access, tracer and pusher are nil unless they are configured.
type observability struct {
	config   *static.Configuration
	logs     loggers
	metrics  *metrics.Metrics
	failures *telemetry.Failures
	// unmatched counts requests without a route. tail is nil unless api.liveRequests is set.
	unmatched *telemetry.Unmatched
	tail      *accesslog.Tail
	access    *accesslog.Log
	tracer    *tracing.Tracer
	pusher    pusher
}

// pusher sends metrics until it is shut down.
type pusher interface {
	Shutdown(ctx context.Context) error
}

// newObservability returns the counters, of which nothing runs yet.
func newObservability(config *static.Configuration, logs loggers) (*observability, error) {
	o := &observability{
		config: config, logs: logs, failures: telemetry.NewFailures(logs.For(log.SubsystemRequests)),
		unmatched: telemetry.NewUnmatched(),
	}
	if config.API != nil && config.API.LiveRequests {
		o.tail = accesslog.NewTail()
	}
	options := metrics.Options{Dropped: o.failures.Dropped}
	if config.Metrics != nil && config.Metrics.Prometheus != nil {
		shown := config.Metrics.Prometheus
		options.Buckets, options.HeaderLabels = shown.Buckets, shown.HeaderLabels
		options.EntryPoints, options.Routers = shown.AddEntryPointsLabels, shown.AddRoutersLabels
		options.Services = shown.AddServicesLabels
	}
	if config.Metrics != nil && config.Metrics.OTLP != nil {
		options.Pushed = push.View(*config.Metrics.OTLP)
	}
	if err := options.Validate(); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	o.metrics = metrics.New(options)
	return o, nil
}

// open starts the configured outputs.
func (o *observability) open(ctx context.Context) error {
	logger := o.logs.For(log.SubsystemTelemetry)
	otlp.Report(logger)
	if err := o.openAccessLog(ctx, logger); err != nil {
		return fmt.Errorf("accessLog: %w", err)
	}
	if config := o.config.Tracing; config != nil {
		target := cmp.Or(config.OTLP, &static.TracingOTLP{})
		exporter, err := otlp.Spans(ctx, target.GRPC, target.HTTP)
		if err != nil {
			return fmt.Errorf("tracing: otlp: %w", err)
		}
		if o.tracer, err = tracing.New(*config, exporter, logger); err != nil {
			return fmt.Errorf("tracing: %w", err)
		}
		o.metrics.Register(metrics.Dropped("traces", o.tracer.Dropped))
	}
	if config := o.config.Metrics; config != nil && config.OTLP != nil {
		exporter, err := otlp.Metrics(ctx, config.OTLP.GRPC, config.OTLP.HTTP)
		if err != nil {
			return fmt.Errorf("metrics.otlp: %w", err)
		}
		if o.pusher, err = push.New(*config.OTLP, o.metrics.Pushed(), exporter); err != nil {
			return err
		}
	}
	return nil
}

func (o *observability) openAccessLog(ctx context.Context, logger telemetry.Logger) error {
	config := o.config.AccessLog
	if config == nil {
		return nil
	}
	options := accesslog.Options{Logger: logger}
	if config.OTLP != nil {
		exporter, err := otlp.Logs(ctx, config.OTLP.GRPC, config.OTLP.HTTP)
		if err != nil {
			return fmt.Errorf("otlp: %w", err)
		}
		options.Exporter = exporter
		options.Resource = otlp.Resource(config.OTLP.ServiceName, config.OTLP.ResourceAttributes)
	}
	var err error
	if o.access, err = accesslog.New(*config, options); err != nil {
		return err
	}
	o.metrics.Register(metrics.Dropped("access_log", o.access.Dropped))
	return nil
}

// dependencies returns what an entrypoint reports to.
func (o *observability) dependencies(name string, config *static.EntryPoint) entrypoint.Dependencies {
	requests := o.metrics.Entrypoint(name)
	deps := entrypoint.Dependencies{
		Logger:      o.logs.For(log.SubsystemEntrypoint),
		Connections: requests,
		Handshakes:  requests,
		QUIC:        requests.QUIC(),
		HTTP2:       requests,
		Refusals:    requests,
		Observe:     observed(&config.Observability) & watched(o.config),
		Watched:     watched(o.config),
		Sinks:       []entrypoint.Sink{telemetry.Requests{Entrypoint: requests}, o.failures},
	}
	if o.config.API != nil {
		deps.Sinks = append(deps.Sinks, o.unmatched)
	}
	if o.tail != nil {
		deps.Sinks = append(deps.Sinks, o.tail)
	}
	if o.access != nil {
		// A router may switch the log on.
		deps.Observe |= o.access.Observes() & telemetry.ObserveHeaders
		deps.Starter = o.access
		deps.Sinks = append(deps.Sinks, o.access)
	}
	if o.tracer != nil {
		// Before the others: lines of the access log contain the trace.
		deps.Sinks = slices.Insert(deps.Sinks, 0, entrypoint.Sink(o.tracer))
	}
	return deps
}

// close sends the last data to all collectors at once, so that one that does not answer delays no other.
func (o *observability) close() {
	ctx, cancel := context.WithTimeout(context.Background(), lastSend)
	defer cancel()
	logger := o.logs.For(log.SubsystemTelemetry)
	var ends sync.WaitGroup
	if o.tracer != nil {
		ends.Go(func() {
			if err := o.tracer.Shutdown(ctx); err != nil {
				logger.Warn("the last spans were not sent", "error", err)
			}
		})
	}
	if o.pusher != nil {
		ends.Go(func() {
			if err := o.pusher.Shutdown(ctx); err != nil {
				logger.Warn("the last metrics were not sent", "error", err)
			}
		})
	}
	ends.Wait()
}

// records returns the records of requests that the outputs need.
func records(metrics, access, traces bool) telemetry.Observe {
	var all telemetry.Observe
	if metrics {
		all |= telemetry.ObserveMetrics
	}
	if access {
		all |= telemetry.ObserveAccess
	}
	if traces {
		all |= telemetry.ObserveTrace | telemetry.ObserveDetail
	}
	return all
}

// watched returns which records of requests are needed. The dashboard reads the counters, too, and live requests are
// those of the access log.
func watched(config *static.Configuration) telemetry.Observe {
	live := config.API != nil && config.API.LiveRequests
	return records(config.Metrics != nil || config.API != nil, config.AccessLog != nil || live, config.Tracing != nil)
}

// internals returns which records are needed of requests to Sluice's own services (addInternals).
func internals(config *static.Configuration) telemetry.Observe {
	return records(config.Metrics != nil && config.Metrics.AddInternals,
		config.AccessLog != nil && config.AccessLog.AddInternals, config.Tracing != nil && config.Tracing.AddInternals)
}

// observed returns what an entrypoint records (entryPoints.<name>.observability).
func observed(config *static.EntryPointTelemetry) telemetry.Observe {
	all := records(config.Metrics, config.AccessLogs, config.Tracing)
	if config.TraceVerbosity == "detailed" {
		return all | telemetry.ObserveDetail
	}
	return all &^ telemetry.ObserveDetail
}
