package main

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"

	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/entrypoint/listeners"
	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/log"
	"github.com/sluiceproxy/sluice/telemetry/metrics"
)

// listenerTemplates returns what listeners of providers inherit from the entrypoints, by their names, and from the
// defaults of all options, by the empty name. An entrypoint that is a forward proxy is none.
func listenerTemplates(config *static.Configuration) map[string]router.EntryPoint {
	templates := map[string]router.EntryPoint{"": inherited("", defaultEntryPoint())}
	for name, declared := range config.EntryPoints {
		if declared.ForwardProxy == nil {
			template := inherited(name, declared)
			template.OwnOptions = ownOptions(declared)
			templates[name] = template
		}
	}
	return templates
}

// ownOptions returns the options of an entrypoint that listeners do not take from it.
func ownOptions(declared *static.EntryPoint) []string {
	var options []string
	if tls := declared.HTTP.TLS; tls != nil && (tls.Options != "" || tls.CertResolver != "" || len(tls.Domains) > 0) {
		options = append(options, router.OptionTLS)
	}
	if redirections := declared.HTTP.Redirections; redirections != nil && redirections.EntryPoint != nil {
		options = append(options, router.OptionRedirections)
	}
	if declared.HTTP3 != nil {
		options = append(options, router.OptionHTTP3)
	}
	return options
}

// defaultEntryPoint returns the options of listeners without a template.
func defaultEntryPoint() *static.EntryPoint {
	defaults := &static.EntryPoint{}
	defaults.SetDefaults()
	return defaults
}

// sockets makes the servers of the addresses of listeners.
type sockets struct{ system *system }

// Server returns the server of an address, with the options of the template and the address as its name.
func (s sockets) Server(socket router.Socket) (listeners.Server, error) {
	config := defaultEntryPoint()
	if template := s.system.config.EntryPoints[socket.Template]; template != nil {
		copied := *template
		config = &copied
	}
	config.HTTP3, config.Address = nil, socket.HostPort+"/"+socket.Network
	if err := s.checkReusePort(config); err != nil {
		return nil, err
	}
	if socket.Network == "udp" {
		server := s.system.datagramsOf(socket.HostPort, s.system.target.PacketsOf(socket.Address), config)
		packets, err := entrypoint.NewPackets(socket.HostPort, config, &datagramListener{
			Server: server, address: socket.HostPort, serving: &s.system.datagramListeners,
		}, s.system.predecessor)
		if err != nil {
			return nil, err
		}
		return packets, nil
	}
	if s.system.config.Global.NotAppendXForwardedFor {
		config.ForwardedHeaders.NotAppendXForwardedFor = true
	}
	hosts := s.system.target.VirtualHosts(socket.Address)
	deps := s.system.observability.dependencies(socket.HostPort, config)
	deps.Directory, deps.Reachable = s.system.connections, s.system.reachable(config)
	deps.Streams, deps.Descriptors, deps.Inherited = hosts, s.system.descriptors, s.system.predecessor
	deps.Gate, deps.Timeouts = s.system.overload, s.system.overload
	if s.system.certificates != nil && !config.AllowACMEByPass {
		deps.Challenges = s.system.certificates
	}
	s.system.countByListener(deps.Sinks)
	handler := endingKeepAlive{manager: s.system.overload, next: hosts}
	server, err := entrypoint.New(socket.HostPort, config, handler, hosts, deps)
	if err != nil {
		return nil, err
	}
	return server, nil
}

// entryPointNames returns the names of the entrypoints, of the listeners and of the addresses of those.
func (s *system) entryPointNames() map[string]bool {
	names := map[string]bool{}
	for name := range s.config.EntryPoints {
		names[name] = true
	}
	if s.listeners != nil {
		for _, address := range s.listeners.Addresses() {
			names[address.HostPort] = true
		}
	}
	if state := s.pipeline.State(); state != nil && state.Configuration != nil && state.Configuration.Listeners != nil {
		for name := range state.Configuration.Listeners.Listeners.Keys() {
			names[name] = true
		}
	}
	return names
}

// checkReusePort fails where the kernel would divide the clients of an address between a listener and an entrypoint of
// this process, since both have reusePort. Without it the address cannot be bound twice.
func (s sockets) checkReusePort(config *static.EntryPoint) error {
	wanted, err := config.ListenAddress()
	if err != nil || !config.ReusePort {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(s.system.config.EntryPoints)) {
		entryPoint := s.system.config.EntryPoints[name]
		address, err := entryPoint.ListenAddress()
		if err != nil || !entryPoint.ReusePort || address.Port != wanted.Port || !sameHost(address.Host, wanted.Host) {
			continue
		}
		http3 := entryPoint.HTTP3 != nil && !entryPoint.HTTP3.Withdrawn
		if address.Network == wanted.Network || http3 && wanted.Network == "udp" {
			return fmt.Errorf("the entrypoint %q listens on %s, and reusePort would divide its clients", name,
				entryPoint.Address)
		}
	}
	return nil
}

// sameHost reports whether two hosts of addresses are the same IP address, or both unspecified ones. A name, which may
// stand for any address, is the same as every host.
func sameHost(a, b string) bool {
	first, isIP := hostIP(a)
	second, areIPs := hostIP(b)
	return !isIP || !areIPs || first == second
}

// hostIP returns the IP address of a host, the zero one for all addresses. It is not ok for a name.
func hostIP(host string) (ip netip.Addr, ok bool) {
	if host == "" {
		return netip.Addr{}, true
	}
	parsed, err := netip.ParseAddr(host)
	if err != nil || parsed.IsUnspecified() {
		return netip.Addr{}, err == nil
	}
	return parsed.Unmap(), true
}

// newListeners returns what opens the sockets of listeners.
func (s *system) newListeners() *listeners.SocketSet {
	return listeners.New(listeners.Options{
		Servers: sockets{s}, Logger: s.logs.For(log.SubsystemEntrypoint),
		Await: func(ctx context.Context) { s.awaitRoutes(ctx, "listeners", firstRoutes) },
	})
}

// countByListener has the sinks of the socket of an address count requests by their listeners.
func (s *system) countByListener(sinks []entrypoint.Sink) {
	for i, sink := range sinks {
		if _, ok := sink.(telemetry.Requests); ok {
			sinks[i] = &listenerRequests{counters: s.observability.metrics, exist: s.entryPointNames}
		}
	}
}

// entrypointCounters has the counters of entrypoints and listeners.
type entrypointCounters interface {
	Entrypoint(name string) *metrics.Entrypoint
}

// listenerRequests counts requests by the entrypoint of their records, which is that of the socket where no listener
// has the host.
type listenerRequests struct {
	counters entrypointCounters
	// exist returns the names of the entrypoints and listeners that there are.
	exist func() map[string]bool
	// known are telemetry.Requests by the name of the listener.
	known sync.Map

	mu sync.Mutex
	// size is the number of those that are known, and limit the number above which removed ones are dropped.
	size, limit int
}

// leastKnown is the lowest limit of known listeners.
const leastKnown = 64

// Finished counts what the record is of.
func (l *listenerRequests) Finished(record *telemetry.Record) {
	if known, ok := l.known.Load(record.Entrypoint); ok {
		known.(telemetry.Requests).Finished(record)
		return
	}
	requests := telemetry.Requests{Entrypoint: l.counters.Entrypoint(record.Entrypoint)}
	if _, known := l.known.LoadOrStore(record.Entrypoint, requests); !known {
		l.grow()
	}
	requests.Finished(record)
}

// grow counts a further listener that is known. It drops removed ones when the number has doubled since it did so last,
// so that this takes constant time for each on average.
func (l *listenerRequests) grow() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size++; l.size <= max(leastKnown, l.limit) {
		return
	}
	exist := l.exist()
	l.size = 0
	l.known.Range(func(name, _ any) bool {
		if exist[name.(string)] {
			l.size++
		} else {
			l.known.Delete(name)
		}
		return true
	})
	l.limit = 2 * l.size
}
