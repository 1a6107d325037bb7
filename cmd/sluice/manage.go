package main

import (
	"cmp"
	"net/http"
	"runtime/debug"
	"slices"
	"time"

	"github.com/sluiceproxy/sluice/api"
	"github.com/sluiceproxy/sluice/api/admin"
	"github.com/sluiceproxy/sluice/api/bundle"
	"github.com/sluiceproxy/sluice/api/dashboard"
	"github.com/sluiceproxy/sluice/api/discovery"
	"github.com/sluiceproxy/sluice/api/environments"
	"github.com/sluiceproxy/sluice/api/injection"
	"github.com/sluiceproxy/sluice/api/live"
	"github.com/sluiceproxy/sluice/api/resolvers"
	"github.com/sluiceproxy/sluice/certificate/acme"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/telemetry/log"
)

// management is what Sluice serves about itself and has to be drained.
type management struct {
	ping *api.Ping
	live *live.Live
}

// newManagement adds the services that Sluice itself answers. Any router may name one, so there are none but those that
// the static configuration enables.
func newManagement(s *system, services map[string]http.Handler) *management {
	config, logger, metrics := s.config, s.logs.For(log.SubsystemAPI), s.observability.metrics
	services[pipeline.ServiceNoop] = http.HandlerFunc(noop)
	status := 0
	if config.Ping != nil {
		status = config.Ping.TerminatingStatusCode
	}
	version := release()
	m := &management{
		ping: api.NewPing(s.pipeline, status, logger),
	}
	options := live.Options{
		State: s.pipeline, Logger: logger, Endpoints: s.balancing, Traffic: metrics, Version: version.Version,
		Unmatched: s.observability.unmatched,
	}
	if s.observability.tail != nil {
		options.Requests = s.observability.tail
	}
	m.live = live.New(options)
	if config.Ping != nil {
		services[pipeline.ServicePing] = m.ping
	}
	if s.certificates != nil {
		services[pipeline.ServiceACME] = s.certificates
	}
	if config.Metrics != nil && config.Metrics.Prometheus != nil {
		services[pipeline.ServicePrometheus] = metrics.Handler()
	}
	if config.API == nil {
		return m
	}
	parts := []api.Part{m.live, bundle.New(bundle.Options{
		State: s.pipeline, Static: config, Metrics: metrics.Handler(), Logger: logger,
	})}
	parts = append(parts, environments.New(environments.Options{
		Table: s.target.Table, Logger: logger,
		Origin: func(ref dynamic.Ref) dynamic.Origin { return s.pipeline.State().Origin(ref) },
	}))
	parts = append(parts, resolvers.New(resolvers.Options{Status: s.resolverStatus, Logger: logger}))
	if s.publication != nil {
		parts = append(parts, discovery.New(s.publication.server, logger))
	}
	if s.injection != nil {
		parts = append(parts, injection.New(s.injection, logger))
	}
	if config.API.Dashboard {
		page := dashboard.New(dashboard.Options{BasePath: config.API.BasePath, Name: config.API.DashboardName})
		parts = append(parts, page)
		services[pipeline.ServiceDashboard] = api.Protect(config.API.BasePath, logger, page)
	}
	if config.API.Admin {
		services[pipeline.ServiceAdmin] = admin.New(admin.Options{
			Endpoints: s.balancing.registry, Levels: s.logs, Connections: s.connections, Logger: logger,
			Audit: s.logs.Audit(log.SubsystemAPI), BasePath: config.API.BasePath,
		})
	}
	services[pipeline.ServiceAPI] = api.New(api.Options{
		State: s.pipeline, Static: config, Version: version, Parts: parts, Logger: logger, BasePath: config.API.BasePath,
		Explain: func(question router.Question) (any, error) { return s.target.Table().Explain(question) },
		ExplainConnection: func(question router.ConnectionQuestion) (any, error) {
			return s.target.Table().ExplainConnection(question)
		},
		Routes: func() any { return s.target.Table().Routes() },
		Middlewares: func() any {
			return slices.AppendSeq([]router.MiddlewareStatus{}, s.compiler.Middlewares()) // [], and not null.
		},
		Servers:      s.balancing.servers,
		Connections:  s.connections,
		Certificates: s.compiler.Certificates,
		Staple:       s.stapleStatus,
		Resolvers:    s.resolverStatus,
		Rates:        metrics.Rates,
		Overload:     s.overloadState,
	})
	return m
}

// resolverStatus returns the states of the resolvers that use ACME.
func (s *system) resolverStatus() []acme.ResolverStatus {
	if s.certificates == nil {
		return nil
	}
	return s.certificates.Status()
}

// drain ends event streams, and has ping answer that Sluice stops.
func (m *management) drain() {
	m.ping.Drain()
	m.live.Drain()
}

// codename is what the API of Sluice calls itself.
const codename = "sluice"

// release returns the version of this binary.
func release() api.Version {
	version := api.Version{Version: "unknown", Codename: codename, Start: time.Now()}
	if build, ok := debug.ReadBuildInfo(); ok {
		version.Version = cmp.Or(build.Main.Version, version.Version)
	}
	return version
}

// noop answers 418: it stands behind routers whose middlewares always answer.
func noop(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, http.StatusText(http.StatusTeapot), http.StatusTeapot)
}
