package main

import (
	"context"
	"fmt"
	stdlog "log"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/entrypoint/h3"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/forwardproxy"
	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry/log"
)

// routerEntryPoints returns what routers inherit from the TCP entrypoints, in the order of their names. Without
// asDefault anywhere, all of them but the internal one take routers that name no entrypoint.
func routerEntryPoints(config *static.Configuration) ([]router.EntryPoint, error) {
	var found []router.EntryPoint
	for _, name := range slices.Sorted(maps.Keys(config.EntryPoints)) {
		declared := config.EntryPoints[name]
		address, err := declared.ListenAddress()
		if err != nil {
			return nil, fmt.Errorf("entrypoint %q: %w", name, err)
		}
		if address.Network != "tcp" {
			continue
		}
		one := inherited(name, declared)
		one.Port, one.Loopback = int(address.Port), static.Loopback(address.Host)
		one.Default = isDefault(config, name)
		found = append(found, one)
	}
	return found, nil
}

// isDefault reports whether an entrypoint takes routers that name none.
func isDefault(config *static.Configuration, entrypoint string) bool {
	for _, declared := range config.EntryPoints {
		if declared.AsDefault {
			return config.EntryPoints[entrypoint].AsDefault
		}
	}
	return entrypoint != static.InternalEntryPoint
}

// inherited returns what routers inherit from the options of an entrypoint, whatever its address is.
func inherited(name string, declared *static.EntryPoint) router.EntryPoint {
	proxy := declared.ProxyProtocol
	return router.EntryPoint{
		Name:        name,
		Policy:      entrypoint.Policy(&declared.HTTP),
		Middlewares: declared.HTTP.Middlewares,
		TLS:         routerTLS(declared.HTTP.TLS),
		Observe:     observed(&declared.Observability),
		PreferHTTP:  declared.TCP != nil && declared.TCP.PreferHTTP,

		AnyForwarded: declared.ForwardedHeaders.Insecure || trustsMost(declared.ForwardedHeaders.TrustedIPs),
		AnyPeer:      proxy != nil && (proxy.Insecure || trustsMost(proxy.TrustedIPs)),
	}
}

// packetEntryPoints returns the names of the UDP entrypoints, in order.
func packetEntryPoints(config *static.Configuration) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(config.EntryPoints)) {
		if address, err := config.EntryPoints[name].ListenAddress(); err == nil && address.Network == "udp" {
			names = append(names, name)
		}
	}
	return names
}

// discovering returns the entrypoints to which routers of discovered hosts are attached.
func discovering(config *static.Configuration, entrypoints []router.EntryPoint) []string {
	if names := config.Providers.XDS.EntryPoints; len(names) > 0 {
		return names
	}
	var names []string
	for i := range entrypoints {
		if entrypoints[i].Default {
			names = append(names, entrypoints[i].Name)
		}
	}
	return names
}

// trustsMost reports whether a list of trusted peers includes half of all addresses or more.
func trustsMost(trusted []forwarded.Range) bool { return forwarded.TrustOf(trusted).CoversMost() }

func routerTLS(config *static.TLS) *dynamic.RouterTLS {
	if config == nil {
		return nil
	}
	inherited := &dynamic.RouterTLS{Options: config.Options, CertResolver: config.CertResolver}
	for _, domain := range config.Domains {
		inherited.Domains = append(inherited.Domains, dynamic.Domain{Main: domain.Main, SANs: domain.SANs})
	}
	return inherited
}

// listener is an entrypoint of any network.
type listener interface {
	Name() string
	Serve(ctx context.Context) error
	Sockets(yield func(network string, socket syscall.Conn) bool)
	bindable
}

// bindable has an address.
type bindable interface {
	Listen(ctx context.Context) error
	Addr() net.Addr
	Close() error
}

// listen binds all entrypoints, or none when one of them cannot be bound.
func (s *system) listen(ctx context.Context) ([]listener, error) {
	if s.http3 == nil {
		s.http3 = h3.NewProcess()
	}
	var bound []listener
	for _, name := range slices.Sorted(maps.Keys(s.config.EntryPoints)) {
		config := *s.config.EntryPoints[name]
		address, err := config.ListenAddress()
		var opened listener
		switch {
		case err != nil:
			err = fmt.Errorf("entrypoint %q: address: %w", name, err)
		case address.Network == "udp":
			opened, err = entrypoint.NewPackets(name, &config, s.datagrams(name, &config), s.inherited)
		default:
			opened, err = s.streams(name, &config)
		}
		if err == nil {
			err = s.bind(ctx, opened)
		}
		if err != nil {
			for _, other := range bound {
				_ = other.Close()
			}
			return nil, err
		}
		s.logger.Info("listening", "entrypoint", name, "address", opened.Addr().String())
		bound = append(bound, opened)
	}
	return bound, nil
}

// streams returns a TCP entrypoint.
func (s *system) streams(name string, config *static.EntryPoint) (*entrypoint.Entrypoint, error) {
	if s.config.Global.NotAppendXForwardedFor {
		config.ForwardedHeaders.NotAppendXForwardedFor = true
	}
	deps := s.observability.dependencies(name, config)
	if config.ForwardProxy == nil {
		deps.Streams = s.target.Streams(name)
	}
	deps.HTTP3, deps.Inherited, deps.Directory = s.http3, s.inherited, s.connections
	deps.Reachable = s.reachable(config)
	if !s.internal(name) {
		deps.Descriptors, deps.Gate, deps.Timeouts = s.descriptors, s.overload, s.overload
	}
	if s.certificates != nil && !config.AllowACMEByPass {
		deps.Challenges = s.certificates
	}
	return entrypoint.New(name, config, s.handler(name, config), s.target.TLS(name), deps)
}

// internal reports whether an entrypoint serves nothing but what Sluice serves about itself: the one named traefik, and
// those of ping and of metrics to which routers are not attached by default.
func (s *system) internal(name string) bool {
	if strings.EqualFold(name, static.InternalEntryPoint) {
		return true
	}
	ping := s.config.Ping != nil && !s.config.Ping.ManualRouting && strings.EqualFold(s.config.Ping.EntryPoint, name)
	metrics := false
	if config := s.config.Metrics; config != nil && config.Prometheus != nil && !config.Prometheus.ManualRouting {
		metrics = strings.EqualFold(config.Prometheus.EntryPoint, name)
	}
	return (ping || metrics) && !isDefault(s.config, name)
}

// handler returns the handler of an entrypoint.
func (s *system) handler(name string, config *static.EntryPoint) http.Handler {
	if config.ForwardProxy == nil {
		handler := s.target.Handler(name)
		if !s.internal(name) {
			handler = endingKeepAlive{manager: s.overload, next: handler}
		}
		return handler
	}
	direct := forwardproxy.NewDirect(
		stdlog.New(libraryLog{s.logs.For(log.SubsystemLibrary)}, "", 0), s.connections.Control)
	proxy := forwardproxy.New(config.ForwardProxy, s.target.HandlerOr(name, direct))
	s.proxies = append(s.proxies, proxy)
	return proxy
}

// awaitQuiet returns a context that ends after ctx, when the applications that use the forward proxies send no more
// requests, and settle has returned.
func (s *system) awaitQuiet(ctx context.Context, settle func(context.Context)) context.Context {
	later, cancel := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		defer cancel()
		var waiting sync.WaitGroup
		waiting.Go(func() { settle(later) })
		for _, one := range s.proxies {
			waiting.Go(func() { one.AwaitQuiet(later) })
		}
		waiting.Wait()
	})
	return later
}

// firstRoutes bounds how long the first clients wait for the first routes.
const firstRoutes = 10 * time.Second

// firstProxied is firstRoutes for a forward proxy, whose requests can go to the host that they name.
const firstProxied = time.Second

// awaitReady waits until Sluice is ready for the first time, at most ten seconds: earlier connections wait in the queue
// of the socket and are not answered 404. The entrypoints of Sluice's own services wait for the first table, which is
// the first that has their routes, and not for readiness, which /ready answers.
func (s *system) awaitReady(ctx context.Context, entrypoint string) {
	if s.isOwn(entrypoint) {
		s.awaitTable(ctx)
		return
	}
	longest := firstRoutes
	if s.config.EntryPoints[entrypoint].ForwardProxy != nil {
		longest = firstProxied
	}
	s.awaitRoutes(ctx, entrypoint, longest)
}

// awaitTable waits until a table is active, at most ten seconds.
func (s *system) awaitTable(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, firstRoutes)
	defer cancel()
	for state := s.pipeline.State(); state.Generation == 0; state = s.pipeline.State() {
		select {
		case <-state.Changed:
		case <-ctx.Done():
			return
		}
	}
}

// awaitRoutes waits until Sluice is ready for the first time, for as long as that may take.
func (s *system) awaitRoutes(ctx context.Context, entrypoint string, longest time.Duration) {
	timer := time.NewTimer(longest)
	defer timer.Stop()
	select {
	case <-s.pipeline.FirstReady():
	case <-timer.C:
		s.logger.Warn("not ready yet; what is known serves", "entrypoint", entrypoint)
		return
	case <-ctx.Done():
	}
	s.identity.awaitFirst(ctx)
}
