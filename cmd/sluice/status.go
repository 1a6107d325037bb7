package main

import (
	"cmp"
	"crypto/x509"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/api/live"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/telemetry/metrics"
)

// countStatus registers what the metrics read at each scrape: pools, middlewares, certificates, and the routers and
// services that still exist.
func (s *system) countStatus() {
	all, registry, mirrors := s.observability.metrics, s.balancing.registry, s.balancing.mirrors
	all.Register(metrics.Balance(mapped(registry.Pools(), balanceCounts)))
	all.Register(metrics.Pools(mapped(registry.Pools(), poolStatus))...)
	all.Register(metrics.DatagramServers(s.datagramServers)...)
	all.Register(metrics.Middlewares(mapped(s.compiler.Middlewares(), middlewareCounts)))
	all.Register(metrics.Servers(func(yield func(metrics.ServerStatus) bool) {
		for pool := range registry.Pools() {
			_, service := loadbalancer.SplitPoolName(pool.Name())
			for url, up := range serversUp(pool) {
				if !yield(metrics.ServerStatus{Service: service, URL: url, Up: up}) {
					return
				}
			}
		}
	}))
	all.Register(metrics.Mirrors(map[string]func() uint64{
		"sent":    func() uint64 { return mirrors.Counts().Sent },
		"dropped": func() uint64 { return mirrors.Counts().Dropped },
		"unread":  func() uint64 { return mirrors.Counts().Unread },
		"broken":  func() uint64 { return mirrors.Counts().Broken },
	})...)
	all.Register(metrics.Certificates(func(yield func(*x509.Certificate) bool) {
		slices.Values(s.compiler.Certificates())(yield)
	}))
	all.Register(metrics.CRLs(func() []metrics.CRL {
		var lists []metrics.CRL
		for _, list := range s.compiler.CRLs() {
			lists = append(lists, metrics.CRL{Options: list.Options, Issuer: list.Issuer, NextUpdate: list.NextUpdate})
		}
		return lists
	}))
	all.ServeOnly(func() (routers, services map[string]bool) {
		services = map[string]bool{}
		for pool := range registry.Pools() {
			services[pool.Name()] = true
		}
		return s.target.Table().Names(), services
	})
	all.ServeStreamsOnly(s.streamNames)
	all.ServeEntrypointsOnly(s.entryPointNames)
}

// streamNames returns the names of the TCP and UDP routers and services of the current configuration.
func (s *system) streamNames() (tcp, udp metrics.StreamNames) {
	names := func(of iter.Seq[string]) map[string]bool {
		return maps.Collect(func(yield func(string, bool) bool) {
			of(func(name string) bool { return yield(name, true) })
		})
	}
	state := s.pipeline.State()
	if state == nil || state.Configuration == nil {
		return tcp, udp
	}
	if section := state.Configuration.TCP; section != nil {
		tcp = metrics.StreamNames{Routers: names(section.Routers.Keys()), Services: names(section.Services.Keys())}
	}
	if section := state.Configuration.UDP; section != nil {
		udp = metrics.StreamNames{Routers: names(section.Routers.Keys()), Services: names(section.Services.Keys())}
	}
	return tcp, udp
}

// mapped yields what to returns for each element.
func mapped[A, B any](from iter.Seq[A], to func(A) B) iter.Seq[B] {
	return func(yield func(B) bool) {
		for one := range from {
			if !yield(to(one)) {
				return
			}
		}
	}
}

// balanceCounts reads the counters of a pool.
func balanceCounts(pool *loadbalancer.Pool) metrics.BalanceCounts {
	c := pool.Counters()
	protocol, service := loadbalancer.SplitPoolName(pool.Name())
	return metrics.BalanceCounts{Protocol: protocol, Service: service, Counts: map[string]uint64{
		"retries": c.Retries.Load(), "retries_exhausted": c.Exhausted.Load(),
		"ejections": c.Ejections.Load(), "returns": c.Returns.Load(), "ejections_spared": c.EjectionsOverflow.Load(),
		"checks_failed": c.ChecksFailed.Load(), "checks_passed": c.ChecksPassed.Load(), "panics": c.Panics.Load(),
		"saturated": c.Saturated.Load(), "waited": c.Waited.Load(), "spilled": c.Spilled.Load(),
		"moved": c.Moved.Load(), "cut": c.Cut.Load(),
	}}
}

// poolStatus counts the endpoints of a pool by their state.
func poolStatus(pool *loadbalancer.Pool) metrics.PoolStatus {
	protocol, service := loadbalancer.SplitPoolName(pool.Name())
	status := metrics.PoolStatus{Protocol: protocol, Service: service, Endpoints: map[string]int{}}
	snapshot := pool.Snapshot()
	for state := range snapshot.States() {
		status.Endpoints[state.String()]++
	}
	counted := map[*loadbalancer.Upstream]bool{}
	for member := range snapshot.Members() {
		upstream := member.Upstream()
		switch {
		case protocol == loadbalancer.ProtocolHTTP:
			status.InFlight += int64(member.Endpoint().InFlight())
		case !counted[upstream]: // An endpoint may also be that of an HTTP service.
			status.InFlight += upstream.InFlight()
			counted[upstream] = true
		}
	}
	return status
}

// middlewareCounts adds up what a middleware holds for its owners, so that the number of series does not grow with that
// of routers.
func middlewareCounts(status router.MiddlewareStatus) metrics.MiddlewareCounts {
	sum := metrics.MiddlewareCounts{
		Middleware: status.Name, Events: status.Counts, Levels: map[string]int64{}, States: map[string]int{},
	}
	for _, owner := range status.Owners {
		if owner.State != "" {
			sum.States[owner.State]++
		}
		for level, value := range owner.Levels {
			sum.Levels[level] += value
		}
	}
	return sum
}

// serversUp returns which servers of a pool take requests, or would if none were unhealthy.
func serversUp(pool *loadbalancer.Pool) map[string]bool {
	snapshot := pool.Snapshot()
	states, next := map[string]bool{}, slices.Collect(snapshot.States())
	i := 0
	for member := range snapshot.Members() {
		up := next[i] == loadbalancer.Serving || next[i] == loadbalancer.Draining
		states[member.URL()] = states[member.URL()] || up
		i++
	}
	return states
}

// servers returns UP or DOWN for each server of a service by its URL, or its address for TCP and UDP, as Traefik's API
// has it; nil for a service without servers.
func (b *balancing) servers(protocol, service string) map[string]string {
	pool, known := b.registry.Lookup(loadbalancer.PoolName(protocol, service))
	if !known {
		return nil
	}
	status := map[string]string{}
	for url, up := range serversUp(pool) {
		if protocol != loadbalancer.ProtocolHTTP {
			_, url, _ = strings.Cut(url, "://")
		}
		if up || status[url] == "" {
			status[url] = map[bool]string{true: "UP", false: "DOWN"}[up]
		}
	}
	return status
}

// Endpoints returns the endpoints that the query selects, for the API.
func (b *balancing) Endpoints(query live.EndpointQuery) []func() live.Endpoint {
	within := loadbalancer.EndpointQuery{Search: query.Search, Status: query.Status, Service: query.Service}
	if query.Service != "" {
		within.Service = loadbalancer.PoolName(cmp.Or(query.Protocol, loadbalancer.ProtocolHTTP), query.Service)
	}
	found := b.registry.EndpointStatuses(within)
	selected := make([]func() live.Endpoint, len(found))
	for i, status := range found {
		selected[i] = func() live.Endpoint { return endpointStatus(status) }
	}
	return selected
}

func endpointStatus(status loadbalancer.EndpointStatus) live.Endpoint {
	key := status.Endpoint().Key()
	shown := live.Endpoint{
		Address: status.Address(), Source: key.Source, UID: key.UID,
		InFlight: status.Endpoint().InFlight(), ConnectFailures: status.Endpoint().ConnectFailures(),
		Pools: []live.EndpointPool{}, Upstreams: []live.EndpointUpstream{},
	}
	for _, member := range status.Memberships(time.Now()) {
		protocol, service := loadbalancer.SplitPoolName(member.Service)
		shown.Pools = append(shown.Pools, live.EndpointPool{
			Protocol: protocol, Service: service, State: member.State.String(), Reason: member.Reason,
			BackSeconds: member.Back.Seconds(), Share: member.Share, LatencySeconds: member.Latency.Seconds(),
			SlowStart: member.SlowStart, Sticky: member.Sticky,
			Requests: member.Traffic.Requests, Errors: member.Traffic.Errors,
			Timed: member.Traffic.Timed, Seconds: member.Traffic.Duration.Seconds(),
		})
	}
	for _, upstream := range status.Upstreams() {
		shown.Upstreams = append(shown.Upstreams, live.EndpointUpstream{
			Scheme: upstream.Scheme, Host: upstream.Host, IdleConnections: upstream.Idle,
		})
	}
	return shown
}
