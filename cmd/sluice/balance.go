package main

import (
	"context"
	"time"

	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/loadbalancer/health"
	"github.com/sluiceproxy/sluice/router/service"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/log"
)

// parallelChecks is how many active checks run at a time: enough that hundreds of endpoints which never answer do not
// delay the checks of others, and few enough that their connections are no burden.
const parallelChecks = 512

// balance makes the registry of the pools and what carries requests to mirrors, with their logs and
// metrics. Only a system that serves runs health checks.
func (s *system) balance(serves bool) {
	s.happened = make(chan loadbalancer.Event, keptEvents)
	options := loadbalancer.Options{Took: s.metrics.EndpointsChanged, Report: s.noteEvent}
	if serves {
		s.prober = health.NewProber(parallelChecks)
		options.Prober = s.prober
	}
	s.registry = loadbalancer.NewRegistry(options)
	s.metrics.CountBalance(func(yield func(telemetry.BalanceCounts) bool) {
		for pool := range s.registry.Pools() {
			if !yield(counted(pool)) {
				return
			}
		}
	})
	s.mirrors = service.NewMirrors()
	s.metrics.CountMirrors(map[string]func() uint64{
		"sent":    func() uint64 { return s.mirrors.Counts().Sent },
		"dropped": func() uint64 { return s.mirrors.Counts().Dropped },
		"unread":  func() uint64 { return s.mirrors.Counts().Unread },
		"broken":  func() uint64 { return s.mirrors.Counts().Broken },
	})
}

// keptEvents is how many changes of endpoints wait for the log: those of a large pool that fails altogether.
const keptEvents = 4096

// noteEvent hands a change of an endpoint to the log, which may be slow. What is too much is counted.
func (s *system) noteEvent(event loadbalancer.Event) {
	select {
	case s.happened <- event:
	default:
		s.unlogged.Add(1)
	}
}

// logEvents logs what happens to endpoints until ctx ends.
func (s *system) logEvents(ctx context.Context) {
	logger := s.logs.For(log.SubsystemLoadBalancer)
	for {
		select {
		case event := <-s.happened:
			logEvent(logger, event)
		case <-ctx.Done():
			return
		}
		if lost := s.unlogged.Swap(0); lost > 0 {
			logger.Warn("endpoints changed faster than could be logged", "count", lost)
		}
	}
}

// logEvent logs that an endpoint was taken out or came back.
func logEvent(logger telemetry.Logger, event loadbalancer.Event) {
	fields := []any{"service", event.Service, "endpoint", event.Endpoint}
	switch event.State {
	case loadbalancer.Serving, loadbalancer.Draining:
		logger.Info("endpoint is back", fields...)
	case loadbalancer.Unhealthy:
		logger.Warn("endpoint failed its check", append(fields, "reason", event.Reason)...)
	case loadbalancer.Ejected:
		logger.Warn("endpoint is ejected", append(fields, "reason", event.Reason, "for", event.For.Round(time.Millisecond).String())...)
	}
}

// counted reads the counters of a pool.
func counted(pool *loadbalancer.Pool) telemetry.BalanceCounts {
	c := pool.Counters()
	return telemetry.BalanceCounts{Service: pool.Name(), Counts: map[string]uint64{
		"retries": c.Retries.Load(), "retries_exhausted": c.Exhausted.Load(),
		"ejections": c.Ejections.Load(), "returns": c.Returns.Load(), "ejections_spared": c.EjectionsOverflow.Load(),
		"checks_failed": c.ChecksFailed.Load(), "checks_passed": c.ChecksPassed.Load(), "panics": c.Panics.Load(),
		"saturated": c.Saturated.Load(), "waited": c.Waited.Load(), "spilled": c.Spilled.Load(),
		"moved": c.Moved.Load(), "cut": c.Cut.Load(),
	}}
}

// settleZone sets the zone of the pools: the one that the option zone names, or else that of its node.
// Without either zones don't matter.
func (s *system) settleZone(ctx context.Context) {
	zone := s.config.Zone
	if zone == "" {
		var err error
		if zone, err = s.clusters.Zone(ctx); err != nil && ctx.Err() == nil {
			s.logger.Warn("endpoints of all zones are taken alike", "reason", err.Error())
		}
	}
	if zone != "" {
		s.logger.Info("endpoints of this zone are preferred where services say so", "zone", zone)
		s.registry.SetZone(zone)
	}
}
