package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/api"
	"github.com/sluiceproxy/sluice/api/live"
	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/forward"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/loadbalancer/health"
	"github.com/sluiceproxy/sluice/middleware"
	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/provider"
	"github.com/sluiceproxy/sluice/provider/dns"
	"github.com/sluiceproxy/sluice/provider/docker"
	"github.com/sluiceproxy/sluice/provider/file"
	"github.com/sluiceproxy/sluice/provider/kubernetes"
	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/router/service"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/log"
)

// dnsProvider is the name of the provider that resolves servers given by name.
const dnsProvider = "dns"

// system is everything between the providers and the entrypoints, wired and not yet running.
type system struct {
	config      *static.Configuration
	logs        loggers
	logger      telemetry.Logger
	observers   observers
	live        *live.Live
	started     time.Time
	metrics     *telemetry.Metrics
	failures    *telemetry.Failures
	target      *router.Switch
	middlewares *middleware.Builder
	compiler    *router.Compiler
	pipeline    *pipeline.Pipeline
	files       *file.Provider
	clusters    *kubernetes.Clusters
	ping        *api.Ping
	registry    *loadbalancer.Registry
	prober      *health.Prober
	mirrors     *service.Mirrors
	happened    chan loadbalancer.Event
	unlogged    atomic.Uint64
	// reopen opens log files anew.
	reopen []func() error
}

// assemble wires the stages of a static configuration that has no errors. What does not serve asks no endpoint
// anything.
func assemble(config *static.Configuration, logs loggers, serves bool) (*system, error) {
	s := &system{
		config: config, logs: logs, logger: logs.For(log.SubsystemMain), started: time.Now(),
		failures: telemetry.NewFailures(logs.For(log.SubsystemRequests)),
	}
	shown, err := metricsOptions(config, s.failures.Dropped)
	if err != nil {
		return nil, err
	}
	s.metrics = telemetry.NewMetrics(shown)
	entrypoints, err := inherited(config)
	if err != nil {
		return nil, err
	}
	s.target = router.NewSwitch(entrypoints)
	entries, resolver, err := s.providers()
	if err != nil {
		return nil, err
	}
	transport := forward.DefaultTransport(&config.ServersTransport)
	if _, err := forward.NewTransport(router.DefaultTransport, transport); err != nil {
		return nil, fmt.Errorf("serversTransport: %w", cmp.Or(errors.Unwrap(err), err)) // The option's name says more.
	}
	s.balance(serves)
	s.middlewares = middleware.NewBuilder(middleware.Options{Logger: logs.For(log.SubsystemMiddleware)})
	s.compiler = router.NewCompiler(router.Options{
		EntryPoints: entrypoints,
		Precedence:  config.Providers.Precedence,
		Registry:    s.registry,
		Mirrors:     s.mirrors,
		Internal:    s.internalServices(),
		Transport:   transport,
		Tickets:     certificate.NewTickets(),
		Middlewares: s.middlewares,
		Meter:       s.metrics,
		Watched:     watched(config),
		Internals:   internals(config),
		RequireAuth: config.API != nil && config.API.RequireAuth,
	}, s.target)
	s.countMiddlewares()
	s.countStanding()
	s.pipeline = pipeline.New(pipeline.Options{
		Source:     provider.NewHub(entries, logs.For(log.SubsystemProvider)),
		Compiler:   s.compiler,
		Endpoints:  s.registry,
		Logger:     logs.For(log.SubsystemPipeline),
		Resolver:   resolver,
		Files:      s.middlewares.Files(),
		Sinks:      []pipeline.VerdictSink{pipeline.LogSink{Logger: logs.For(log.SubsystemPipeline)}, s.clusters},
		Metrics:    s.metrics,
		Precedence: config.Providers.Precedence,
		MaxHold:    maxHold(config),
	})
	return s, nil
}

// maxHold returns how long a burst of changes is held at most: the pipeline's own default unless the option says
// otherwise than Traefik's default.
func maxHold(config *static.Configuration) time.Duration {
	if config.Providers.ProvidersThrottleDuration == static.DefaultThrottle {
		return 0
	}
	return time.Duration(config.Providers.ProvidersThrottleDuration)
}

// providers returns the providers that the static configuration names, and the resolver among them.
func (s *system) providers() ([]provider.Entry, *dns.Provider, error) {
	entries := []provider.Entry{{
		Name: pipeline.InternalProvider, Provider: fixed{pipeline.Internal(s.config)}, Required: true,
	}}
	resolver := dns.New(dnsProvider, dns.Options{
		Resolvers: s.config.Providers.DNS.Resolvers,
		MinTTL:    time.Duration(s.config.Providers.DNS.MinTTL),
		MaxTTL:    time.Duration(s.config.Providers.DNS.MaxTTL),
	}, s.logs.For(log.SubsystemDNS))
	entries = append(entries, provider.Entry{Name: dnsProvider, Provider: resolver})
	if s.config.Providers.File != nil {
		var err error
		if s.files, err = file.New(*s.config.Providers.File, s.logs.For(log.SubsystemFile)); err != nil {
			return nil, nil, fmt.Errorf("providers.file: %w", err)
		}
		entries = append(entries, provider.Entry{Name: file.Name, Provider: s.files, Required: true})
	}
	if s.config.Providers.Docker != nil {
		containers, err := docker.New(*s.config.Providers.Docker, s.logs.For(log.SubsystemDocker))
		if err != nil {
			return nil, nil, err
		}
		entries = append(entries, provider.Entry{Name: docker.Name, Provider: containers, Required: true})
	}
	var err error
	if s.clusters, err = kubernetes.New(kubernetes.Options{
		CRD: s.config.Providers.KubernetesCRD, Ingress: s.config.Providers.KubernetesIngress,
		State: s.tableState, Metrics: s.metrics, Logger: s.logs.For(log.SubsystemKubernetes),
	}); err != nil {
		return nil, nil, err
	}
	return append(entries, s.clusters.Entries()...), resolver, nil
}

// internalServices are the services that Sluice itself answers. Any router may name one, so there are none but those
// that the static configuration asks for.
func (s *system) internalServices() map[string]http.Handler {
	services := map[string]http.Handler{pipeline.ServiceNoop: http.HandlerFunc(noop)}
	status := 0
	if s.config.Ping != nil {
		status = s.config.Ping.TerminatingStatusCode
	}
	logger := s.logs.For(log.SubsystemAPI)
	s.ping = api.NewPing(s, status, logger)
	s.live = live.New(live.Options{State: s, Logger: logger, Endpoints: endpoints{s}, Traffic: s.metrics, Version: release().Version})
	if s.config.Ping != nil {
		services[pipeline.ServicePing] = s.ping
	}
	if s.config.API != nil {
		s.serveAPI(services, logger)
	}
	if s.config.Metrics != nil && s.config.Metrics.Prometheus != nil {
		services[pipeline.ServicePrometheus] = s.metrics.Handler()
	}
	return services
}

// State returns how everything stands.
func (s *system) State() *pipeline.State { return s.pipeline.State() }

// tableState returns what clusters are told of the active table.
func (s *system) tableState() kubernetes.State {
	state := s.pipeline.State()
	return kubernetes.State{Included: state.Included, Verdicts: state.Verdicts, Settled: state.Settled, Changed: state.News}
}

// noop answers 418: it stands behind routers whose middlewares always answer.
func noop(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, http.StatusText(http.StatusTeapot), http.StatusTeapot)
}
