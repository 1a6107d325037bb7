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
	"github.com/sluiceproxy/sluice/telemetry/otlp"
	"github.com/sluiceproxy/sluice/telemetry/push"
	"github.com/sluiceproxy/sluice/telemetry/tracing"
)

// lastSend is how long what waits for collectors has when Sluice stops.
const lastSend = 5 * time.Second

// loggers are the loggers of the subsystems; log.Log is.
type loggers interface {
	For(subsystem string) telemetry.Logger
}

// observers receive the records of requests, beside the counters. Each is nil unless it is configured.
type observers struct {
	access *accesslog.Log
	tracer *tracing.Tracer
	pusher pusher
}

// pusher sends metrics until it is shut down.
type pusher interface {
	Shutdown(ctx context.Context) error
}

// watched returns which records of requests are needed. The dashboard reads the counters, too.
func watched(config *static.Configuration) telemetry.Observe {
	var all telemetry.Observe
	if config.Metrics != nil || config.API != nil {
		all |= telemetry.ObserveMetrics
	}
	if config.AccessLog != nil {
		all |= telemetry.ObserveAccess
	}
	if config.Tracing != nil {
		all |= telemetry.ObserveTrace | telemetry.ObserveDetail
	}
	return all
}

// internals returns which records are needed of requests to Sluice's own services (addInternals).
func internals(config *static.Configuration) telemetry.Observe {
	var all telemetry.Observe
	if config.Metrics != nil && config.Metrics.AddInternals {
		all |= telemetry.ObserveMetrics
	}
	if config.AccessLog != nil && config.AccessLog.AddInternals {
		all |= telemetry.ObserveAccess
	}
	if config.Tracing != nil && config.Tracing.AddInternals {
		all |= telemetry.ObserveTrace | telemetry.ObserveDetail
	}
	return all
}

// observed says what an entrypoint records (entryPoints.<name>.observability).
func observed(config *static.EntryPointTelemetry) telemetry.Observe {
	var all telemetry.Observe
	if config.Metrics {
		all |= telemetry.ObserveMetrics
	}
	if config.AccessLogs {
		all |= telemetry.ObserveAccess
	}
	if config.Tracing {
		all |= telemetry.ObserveTrace
	}
	if config.TraceVerbosity == "detailed" {
		all |= telemetry.ObserveDetail
	}
	return all
}

// metricsOptions says what /metrics and a collector get to see.
func metricsOptions(config *static.Configuration, dropped func() uint64) (telemetry.MetricsOptions, error) {
	options := telemetry.MetricsOptions{Dropped: dropped}
	if config.Metrics == nil {
		return options, nil
	}
	if shown := config.Metrics.Prometheus; shown != nil {
		options.Buckets, options.HeaderLabels = shown.Buckets, shown.HeaderLabels
		options.EntryPoints, options.Routers, options.Services = shown.AddEntryPointsLabels, shown.AddRoutersLabels, shown.AddServicesLabels
	}
	if pushed := config.Metrics.OTLP; pushed != nil {
		options.Pushed = push.View(*pushed)
	}
	if err := options.Validate(); err != nil {
		return options, fmt.Errorf("metrics: %w", err)
	}
	return options, nil
}

// observe starts the configured observers. On an error none is left running.
func (s *system) observe(ctx context.Context) error {
	logger := s.logs.For(log.SubsystemTelemetry)
	otlp.Report(logger)
	var err error
	if s.observers.access, err = openAccessLog(ctx, s.config.AccessLog, logger); err != nil {
		return fmt.Errorf("accessLog: %w", err)
	}
	if s.observers.tracer, err = openTracer(ctx, s.config.Tracing, logger); err != nil {
		return fmt.Errorf("tracing: %w", err)
	}
	if s.observers.pusher, err = s.openPush(ctx); err != nil {
		return err
	}
	if s.observers.access != nil {
		s.metrics.CountDropped("access_log", s.observers.access.Dropped)
	}
	if tracer := s.observers.tracer; tracer != nil {
		s.metrics.CountDropped("traces", tracer.Dropped)
		s.target.Trace(tracer)
	}
	return nil
}

func openAccessLog(ctx context.Context, config *static.AccessLog, logger telemetry.Logger) (*accesslog.Log, error) {
	if config == nil {
		return nil, nil
	}
	options := accesslog.Options{Logger: logger}
	if config.OTLP != nil {
		exporter, err := otlp.Logs(ctx, config.OTLP.GRPC, config.OTLP.HTTP)
		if err != nil {
			return nil, fmt.Errorf("otlp: %w", err)
		}
		options.Exporter, options.Resource = exporter, otlp.Resource(config.OTLP.ServiceName, config.OTLP.ResourceAttributes)
	}
	return accesslog.New(*config, options)
}

func openTracer(ctx context.Context, config *static.Tracing, logger telemetry.Logger) (*tracing.Tracer, error) {
	if config == nil {
		return nil, nil
	}
	target := cmp.Or(config.OTLP, &static.TracingOTLP{})
	exporter, err := otlp.Spans(ctx, target.GRPC, target.HTTP)
	if err != nil {
		return nil, fmt.Errorf("otlp: %w", err)
	}
	return tracing.New(*config, exporter, logger)
}

// dependencies returns what an entrypoint tells and asks.
func (s *system) dependencies(name string, config *static.EntryPoint) entrypoint.Dependencies {
	requests := s.metrics.Entrypoint(name)
	deps := entrypoint.Dependencies{
		Logger:      s.logs.For(log.SubsystemEntrypoint),
		Connections: requests,
		Observe:     observed(&config.Observability) & watched(s.config),
		Watched:     watched(s.config),
		Sinks:       []entrypoint.Sink{requests, s.failures},
	}
	if access := s.observers.access; access != nil {
		// A router may switch the log on.
		deps.Observe |= access.Wants() & telemetry.ObserveHeaders
		deps.Starter = access
		deps.Sinks = append(deps.Sinks, access)
	}
	if s.observers.tracer != nil {
		// Before the others: lines of the access log contain the trace.
		deps.Sinks = slices.Insert(deps.Sinks, 0, entrypoint.Sink(s.observers.tracer))
	}
	return deps
}

// stopObserving sends what waits, to all collectors at once: one that does not answer takes no time from another.
func (s *system) stopObserving() {
	ctx, cancel := context.WithTimeout(context.Background(), lastSend)
	defer cancel()
	logger := s.logs.For(log.SubsystemTelemetry)
	var ends sync.WaitGroup
	if tracer := s.observers.tracer; tracer != nil {
		ends.Go(func() {
			if err := tracer.Shutdown(ctx); err != nil {
				logger.Warn("the last spans were not sent", "error", err)
			}
		})
	}
	if pusher := s.observers.pusher; pusher != nil {
		ends.Go(func() {
			if err := pusher.Shutdown(ctx); err != nil {
				logger.Warn("the last metrics were not sent", "error", err)
			}
		})
	}
	ends.Wait()
}
