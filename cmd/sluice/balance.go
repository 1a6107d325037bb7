package main

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/loadbalancer/health"
	"github.com/sluiceproxy/sluice/router/service"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/log"
	"github.com/sluiceproxy/sluice/telemetry/metrics"
)

const (
	// parallelChecks is how many active checks run at a time: enough that hundreds of endpoints which never answer do not
	// delay the checks of others, and few enough that their connections are no burden.
	parallelChecks = 512
	// queuedEvents is how many changes of endpoints wait for the log: those of a large pool that fails altogether.
	queuedEvents = 4096
)

// balancing is the registry of the pools and what carries requests to mirrors, with their log.
type balancing struct {
	registry *loadbalancer.Registry
	prober   *health.Prober // nil without health checks
	mirrors  *service.Mirrors
	logger   telemetry.Logger
	audit    telemetry.Logger // of drains, whatever the level is
	events   chan loadbalancer.Event
	unlogged atomic.Uint64
}

// newBalancing returns an empty registry. Only a system that serves runs health checks.
func newBalancing(counted *metrics.Metrics, logs loggers, serves bool) *balancing {
	b := &balancing{
		mirrors: service.NewMirrors(), logger: logs.For(log.SubsystemLoadBalancer),
		audit: logs.Audit(log.SubsystemLoadBalancer), events: make(chan loadbalancer.Event, queuedEvents),
	}
	options := loadbalancer.Options{
		Took: counted.EndpointsChanged, Report: b.queue, Undrained: b.undrained, Withheld: b.withheld,
	}
	if serves {
		b.prober = health.NewProber(parallelChecks)
		options.Prober = b.prober
	}
	b.registry = loadbalancer.NewRegistry(options)
	return b
}

// close stops the checks and the requests to mirrors.
func (b *balancing) close() {
	b.prober.Close()
	b.mirrors.Close()
}

// queue queues a change of an endpoint for the log, which may be slow. A change that does not fit is counted.
func (b *balancing) queue(event loadbalancer.Event) {
	select {
	case b.events <- event:
	default:
		b.unlogged.Add(1)
	}
}

// run logs changes of endpoints until ctx ends.
func (b *balancing) run(ctx context.Context) {
	for {
		select {
		case event := <-b.events:
			b.log(event)
		case <-ctx.Done():
			return
		}
		if lost := b.unlogged.Swap(0); lost > 0 {
			b.logger.Warn("endpoints changed faster than could be logged", "count", lost)
		}
	}
}

// log logs that an endpoint was taken out or came back.
func (b *balancing) log(event loadbalancer.Event) {
	protocol, service := loadbalancer.SplitPoolName(event.Service)
	fields := []any{"service", service, "endpoint", event.Endpoint}
	if protocol != loadbalancer.ProtocolHTTP {
		fields = append(fields, "protocol", protocol)
	}
	switch event.State {
	case loadbalancer.Serving, loadbalancer.Draining:
		b.logger.Info("endpoint is back", fields...)
	case loadbalancer.Unhealthy:
		b.logger.Warn("endpoint failed its check", append(fields, "reason", event.Reason)...)
	case loadbalancer.Ejected:
		fields = append(fields, "reason", event.Reason, "for", event.For.Round(time.Millisecond).String())
		b.logger.Warn("endpoint is ejected", fields...)
	}
}

// undrained logs that a drain by hand has ended by its time.
func (b *balancing) undrained(drain loadbalancer.Drain) {
	fields := drainFields(&drain, drain.Protocol, drain.Service)
	b.audit.Info("drain of endpoint ended", append(fields, "after", drain.Until.Sub(drain.Since).String())...)
}

// withheld logs what a drain by hand has begun to hold, so that one without an end is not forgotten.
func (b *balancing) withheld(what loadbalancer.Withheld) {
	protocol, service := loadbalancer.SplitPoolName(what.Pool)
	fields := drainFields(&what.Drain, protocol, service)
	fields = append(fields, "since", what.Drain.Since.UTC().Format(time.RFC3339))
	if until := what.Drain.Until; !until.IsZero() {
		fields = append(fields, "until", until.UTC().Format(time.RFC3339))
	}
	if what.Endpoint != "" {
		b.logger.Warn("an endpoint has joined that is drained by hand", fields...)
		return
	}
	b.logger.Warn("no endpoint of the service gets requests, and one is drained by hand", fields...)
}

// drainFields are the fields of a line about a drain.
func drainFields(drain *loadbalancer.Drain, protocol, service string) []any {
	var fields []any
	if protocol != "" {
		fields = append(fields, "protocol", protocol)
	}
	if service != "" {
		fields = append(fields, "service", service)
	}
	if drain.Endpoint.IsValid() {
		fields = append(fields, "endpoint", drain.Endpoint.String())
	}
	return fields
}

// setZone sets the zone of the pools: the one that the option zone names, or else that of its node.
// Without either, services ignore zones.
func (s *system) setZone(ctx context.Context) {
	zone := s.config.Zone
	if zone == "" {
		var err error
		if zone, err = s.sources.clusters.Zone(ctx); err != nil && ctx.Err() == nil {
			s.logger.Warn("endpoints of all zones are taken alike", "reason", err.Error())
		}
	}
	if zone != "" {
		s.logger.Info("endpoints of this zone are preferred where services say so", "zone", zone)
		s.balancing.registry.SetZone(zone)
	}
}
