package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/sluiceproxy/sluice/api/admin"
	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/certificate/acme"
	"github.com/sluiceproxy/sluice/certificate/ocsp"
	"github.com/sluiceproxy/sluice/certificate/storage/open"
	"github.com/sluiceproxy/sluice/certificate/tickets"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/entrypoint/h3"
	"github.com/sluiceproxy/sluice/entrypoint/listeners"
	"github.com/sluiceproxy/sluice/forward"
	"github.com/sluiceproxy/sluice/forward/datagram"
	"github.com/sluiceproxy/sluice/forward/stream"
	"github.com/sluiceproxy/sluice/forwardproxy"
	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/httpio/descriptors"
	"github.com/sluiceproxy/sluice/httpio/held"
	"github.com/sluiceproxy/sluice/inject/injector"
	"github.com/sluiceproxy/sluice/middleware"
	"github.com/sluiceproxy/sluice/overload"
	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/provider"
	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/log"
	"github.com/sluiceproxy/sluice/xds"
)

// system is everything between the providers and the entrypoints, wired and not yet running.
type system struct {
	config        *static.Configuration
	logs          loggers
	logger        telemetry.Logger
	observability *observability
	sources       *sources
	balancing     *balancing
	middlewares   *middleware.Builder
	target        *router.ActiveTable
	compiler      *router.Compiler
	crls          *router.CRLVerdicts
	pipeline      *pipeline.Pipeline
	management    *management
	publication   *publication // nil without the option xds
	proxies       []*forwardproxy.Proxy
	http3         *h3.Process                 // shared by all entrypoints; a predecessor's next one
	packets       map[string]*datagram.Server // of the UDP entrypoints, by name
	// datagramListeners has the servers of the UDP addresses of listeners that serve, with their addresses.
	datagramListeners sync.Map
	injection         *injector.Injector // nil without the option injector
	certificates      *acme.Resolvers    // nil without the option certificatesResolvers
	storages          *open.Stores
	keys              *certificate.Tickets
	tickets           *tickets.Sharing     // nil without the option sessionTickets
	stapler           *ocsp.Stapler        // nil without the option ocsp
	identity          *identity            // nil without the option spiffe.workloadAPIAddr
	listeners         *listeners.SocketSet // nil unless it serves
	connections       *entrypoint.Directory
	descriptors       *descriptors.Limit   // nil without a reserve, and unless it serves
	overload          *overload.Ladder     // nil unless it serves
	held              *held.Registry       // nil where no request is ended for its memory
	inherited         entrypoint.Inherited // nil unless it serves
	predecessor       entrypoint.Inherited // the sockets of the process that runs; nil without one
	auxiliaries       auxiliaries
	// forgotten is whether the service manager is about to close sockets, whose addresses may be needed.
	forgotten bool
}

// loggers are the loggers of the subsystems and their levels; log.Log is.
type loggers interface {
	For(subsystem string) telemetry.Logger
	Audit(subsystem string) telemetry.Logger
	admin.Levels
}

// silent are the loggers of commands that answer a question.
type silent struct{}

// For returns a logger that writes nothing.
func (silent) For(string) telemetry.Logger { return telemetry.Discard{} }

// Audit returns a logger that writes nothing.
func (silent) Audit(string) telemetry.Logger { return telemetry.Discard{} }

// SetLevel fails: there is no level to set.
func (silent) SetLevel(string, string, time.Duration) error { return errors.ErrUnsupported }

// Levels returns nothing.
func (silent) Levels() []log.SubsystemLevel { return nil }

// newSystem wires the stages of a static configuration that has no errors. Unless it serves, no endpoint is checked;
// only then, inputs may take the place of containers and clusters.
func newSystem(loaded static.Loaded, given *inputs, logs loggers, serves bool) (*system, error) {
	config := loaded.Configuration
	s := &system{
		config: config, logs: logs, logger: logs.For(log.SubsystemMain), packets: map[string]*datagram.Server{},
		connections: entrypoint.NewDirectory(),
	}
	s.reserveConfigured()
	var err error
	if s.observability, err = newObservability(config, logs); err != nil {
		return nil, err
	}
	metrics := s.observability.metrics
	entrypoints, err := routerEntryPoints(config)
	if err != nil {
		return nil, err
	}
	if s.sources, err = newSources(loaded, given, s.clusterState, metrics, logs); err != nil {
		return nil, err
	}
	transport, tcpTransport, err := s.newTransports()
	if err != nil {
		return nil, err
	}
	s.balancing = newBalancing(metrics, logs, serves)
	if serves {
		s.descriptors = descriptors.New(config.Descriptors.Reserve)
		s.logger.Debug("file descriptors in reserve", "count", s.descriptors.Reserve())
	}
	s.held = newHeld(&config.Overload)
	s.middlewares = middleware.NewBuilder(middleware.Options{
		Held:   s.held,
		Logger: logs.For(log.SubsystemMiddleware),
		Dial:   (&net.Dialer{Control: httpio.Controls(s.connections.Control, s.descriptors.Control)}).DialContext,
	})
	s.target = s.newTarget(entrypoints)
	keys, internal := certificate.NewTickets(), map[string]http.Handler{} // Filled below, before the first compilation.
	s.keys = keys
	if err := s.newCertificates(keys, serves); err != nil {
		return nil, err
	}
	compiled := router.Options{
		EntryPoints: entrypoints,
		Templates:   listenerTemplates(config),
		Precedence:  config.Providers.Precedence,
		RuleSyntax:  ruleSyntax(config),
		Registry:    s.balancing.registry,
		Mirrors:     s.balancing.mirrors,
		Internal:    internal,
		Transport:   transport,
		Identity:    s.identity.source(),
		Tickets:     keys,
		Middlewares: s.middlewares,
		Meter:       metrics,
		Watched:     watched(config),
		Internals:   internals(config),
		RequireAuth: config.API != nil && config.API.RequireAuth,
		Resolvers:   resolverNames(config),

		Control: s.connections.Control,

		TCPTransport:      tcpTransport,
		PacketEntryPoints: packetEntryPoints(config),
	}
	if serves {
		s.serveSockets(&compiled)
	}
	s.serveCertificates(&compiled)
	s.compiler = router.NewCompiler(compiled, s.target)
	if err := s.newExports(serves); err != nil {
		return nil, err
	}
	s.newPipeline(serves)
	s.management = newManagement(s, internal)
	s.countStatus()
	return s, nil
}

// newPipeline wires what changes the table that serves.
func (s *system) newPipeline(serves bool) {
	options := pipeline.Options{
		Source:    provider.NewHub(s.sources.entries, s.logs.For(log.SubsystemProvider)),
		Compiler:  s.compiler,
		Endpoints: s.balancing.registry,
		Logger:    s.logs.For(log.SubsystemPipeline),
		Resolver:  s.sources.resolver,
		Files:     s.middlewares.Files(),
		Sinks: []pipeline.VerdictSink{
			pipeline.LogSink{Logger: s.logs.For(log.SubsystemPipeline)}, s.sources.clusters,
		},
		Metrics:    s.observability.metrics,
		Precedence: s.config.Providers.Precedence,
		MaxHold:    maxHold(s.config),
		Verdicts:   s.verdictSources(serves),
	}
	if s.publication != nil {
		options.EndpointSinks = []pipeline.EndpointSink{s.publication.publisher}
	}
	s.pipeline = pipeline.New(options)
}

// serveSockets opens the sockets of listeners, and keeps descriptors in reserve from connections to endpoints.
func (s *system) serveSockets(options *router.Options) {
	s.listeners = s.newListeners()
	options.Sockets = s.listeners
	options.Descriptors = s.descriptors
}

// newExports wires what other programs are configured with: the publication over xDS, and the injector.
func (s *system) newExports(serves bool) (err error) {
	metrics := s.observability.metrics
	state := func() *pipeline.State { return s.pipeline.State() }
	s.publication, err = newPublication(s.config, state, metrics, s.logs.For(log.SubsystemXDS), serves)
	if err != nil || s.config.Injector == nil || !serves {
		return err
	}
	s.injection, err = newInjector(s.config, metrics, s.logs.For(log.SubsystemInjector), s.listenReserved)
	return err
}

// newTarget returns the table that serves, still empty.
func (s *system) newTarget(entrypoints []router.EntryPoint) *router.ActiveTable {
	target := router.NewActiveTable(entrypoints)
	for _, name := range packetEntryPoints(s.config) {
		target.Packets(name)
	}
	if s.sources.xds != nil {
		target.Discover(s.sources.xds, discovering(s.config, entrypoints))
	}
	return target
}

// newTransports makes Sluice's identity, and checks and returns the transports that serversTransport and
// tcpServersTransport describe.
func (s *system) newTransports() (*dynamic.ServersTransport, *dynamic.TCPServersTransport, error) {
	if err := s.newIdentity(); err != nil {
		return nil, nil, err
	}
	transport := forward.DefaultTransport(&s.config.ServersTransport)
	tcp := stream.DefaultTransport(s.config.TCPServersTransport)
	// The names of the options say more than those of the transports.
	if _, err := forward.NewTransport(router.DefaultTransport, transport, s.identity.source()); err != nil {
		return nil, nil, fmt.Errorf("serversTransport: %w", cmp.Or(errors.Unwrap(err), err))
	}
	if _, err := stream.NewTransport(router.DefaultTransport, tcp, s.identity.source()); err != nil {
		return nil, nil, fmt.Errorf("tcpServersTransport: %w", cmp.Or(errors.Unwrap(err), err))
	}
	return transport, tcp, nil
}

// serveCertificates adds what obtains certificates and staples OCSP responses to the options of the compiler.
func (s *system) serveCertificates(options *router.Options) {
	if s.certificates != nil {
		options.Demands, options.Obtain = s.certificates, s.certificates.Get
	}
	if s.config.OCSP != nil {
		s.stapler = s.newStapler()
		options.Staples = s.stapler
	}
}

// verdictSources returns what has verdicts beside the compiler.
func (s *system) verdictSources(serves bool) []pipeline.VerdictSource {
	s.crls = router.NewCRLVerdicts(s.compiler)
	sources := []pipeline.VerdictSource{s.crls}
	if s.listeners != nil {
		sources = append(sources, s.listeners)
	}
	if s.publication != nil {
		sources = append(sources, s.publication.publisher)
	}
	if s.certificates != nil {
		sources = append(sources, s.certificates)
	}
	if s.stapler != nil {
		sources = append(sources, s.stapler)
	}
	if s.identity != nil && serves {
		sources = append(sources, s.identity)
	}
	return sources
}

// maxHold returns how long a burst of changes is held at most: the pipeline's own default unless the option says
// otherwise than Traefik's default.
func maxHold(config *static.Configuration) time.Duration {
	if config.Providers.ProvidersThrottleDuration == static.DefaultThrottle {
		return 0
	}
	return time.Duration(config.Providers.ProvidersThrottleDuration)
}

// ruleSyntax returns the syntax of rules whose routers name none; "" is v3.
func ruleSyntax(config *static.Configuration) string {
	if config.Core == nil {
		return ""
	}
	return config.Core.DefaultRuleSyntax
}

// clusterState returns what is reported to clusters.
func (s *system) clusterState() provider.State { return s.pipeline.State().State }

// firstState is how long check, explain and routes wait for the first state of each provider.
const firstState = 10 * time.Second

// settle runs the providers until each has its first state, compiles once, and stops; nothing listens. The verdicts of
// the state include those on services that xDS clients would not get.
func settle(loaded static.Loaded, given *inputs) (*system, *pipeline.State, error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	s, err := newSystem(loaded, given, silent{}, false)
	if err != nil {
		return nil, nil, err
	}
	var watching sync.WaitGroup
	defer watching.Wait()
	watched, cancel := context.WithCancel(ctx)
	defer cancel()
	watching.Go(func() { s.sources.clusters.Watch(watched) })
	state, err := s.pipeline.Once(ctx, firstState)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the providers: %w", err)
	}
	if s.publication != nil {
		judged := *state
		judged.Verdicts = slices.Concat(state.Verdicts, xds.Unpublished(state))
		state = &judged
	}
	return s, state, nil
}
