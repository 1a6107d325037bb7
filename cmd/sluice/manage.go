package main

import (
	"cmp"
	"crypto/x509"
	"net/http"
	"runtime/debug"

	"github.com/sluiceproxy/sluice/api"
	"github.com/sluiceproxy/sluice/api/bundle"
	"github.com/sluiceproxy/sluice/api/dashboard"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/telemetry"
)

// silent are loggers for commands that answer a question.
type silent struct{}

// For returns a logger that writes nothing.
func (silent) For(string) telemetry.Logger { return telemetry.Discard{} }

// serveAPI adds the API to the internal services, and the dashboard where it is wanted.
func (s *system) serveAPI(services map[string]http.Handler, logger telemetry.Logger) {
	config := s.config.API
	parts := []api.Part{s.live, bundle.New(bundle.Options{State: s, Static: s.config, Metrics: s.metrics.Handler(), Logger: logger})}
	if config.Dashboard {
		page := dashboard.New(dashboard.Options{BasePath: config.BasePath, Name: config.DashboardName})
		parts = append(parts, page)
		services[pipeline.ServiceDashboard] = api.Protect(config.BasePath, logger, page)
	}
	version := release()
	version.Start = s.started
	services[pipeline.ServiceAPI] = api.New(api.Options{
		State: s, Static: s.config, Explainer: table{s}, Lister: table{s}, Servers: servers{s}, Certificates: certificates{s},
		Version: version, Parts: parts, Logger: logger, BasePath: config.BasePath,
	})
}

// release says which Sluice this is.
func release() api.Version {
	version := api.Version{Version: "unknown", Codename: "sluice"}
	if build, ok := debug.ReadBuildInfo(); ok {
		version.Version = cmp.Or(build.Main.Version, version.Version)
	}
	return version
}

// servers says how the servers of load balancers stand.
type servers struct{ system *system }

// Servers returns UP or DOWN for each server of a service by its URL, as Traefik has it; nil for a service without
// servers.
func (s servers) Servers(service string) map[string]string {
	pool, known := s.system.registry.Lookup(service)
	if !known {
		return nil
	}
	status := map[string]string{}
	for url, up := range serverStates(pool) {
		status[url] = "DOWN"
		if up {
			status[url] = "UP"
		}
	}
	return status
}

// serverStates tells which servers of a pool get requests, or would but for being in good health too seldom.
func serverStates(pool *loadbalancer.Pool) map[string]bool {
	states := map[string]bool{}
	snapshot := pool.Snapshot()
	var order []string
	for member := range snapshot.Members() {
		order = append(order, member.URL())
	}
	i := 0
	for state := range snapshot.States() {
		up := state == loadbalancer.Serving || state == loadbalancer.Draining
		states[order[i]] = states[order[i]] || up
		i++
	}
	return states
}

// countStanding has the metrics read how servers stand, which certificates there are, and of whom there is still
// something to count.
func (s *system) countStanding() {
	s.metrics.CountServers(func(yield func(telemetry.ServerStatus) bool) {
		for pool := range s.registry.Pools() {
			for url, up := range serverStates(pool) {
				if !yield(telemetry.ServerStatus{Service: pool.Name(), URL: url, Up: up}) {
					return
				}
			}
		}
	})
	s.metrics.CountPools(func(yield func(telemetry.PoolStatus) bool) {
		for pool := range s.registry.Pools() {
			if !yield(poolStatus(pool)) {
				return
			}
		}
	})
	s.metrics.CountCertificates(func(yield func(*x509.Certificate) bool) {
		for _, leaf := range (certificates{s}).Certificates() {
			if !yield(leaf) {
				return
			}
		}
	})
	s.metrics.ServeOnly(func() (routers, services map[string]bool) {
		services = map[string]bool{}
		for pool := range s.registry.Pools() {
			services[pool.Name()] = true
		}
		return s.target.Table().Names(), services
	})
}

// poolStatus counts the endpoints of a pool by how they stand.
func poolStatus(pool *loadbalancer.Pool) telemetry.PoolStatus {
	status := telemetry.PoolStatus{Service: pool.Name(), Endpoints: map[string]int{}}
	snapshot := pool.Snapshot()
	for state := range snapshot.States() {
		status.Endpoints[state.String()]++
	}
	for member := range snapshot.Members() {
		status.InFlight += int64(member.Endpoint().InFlight())
	}
	return status
}

// certificates lists what clients are shown.
type certificates struct{ system *system }

// Certificates returns the leaves of the certificates that serve.
func (c certificates) Certificates() []*x509.Certificate { return c.system.compiler.Certificates() }
