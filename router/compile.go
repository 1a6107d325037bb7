package router

import (
	"context"
	"iter"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward"
	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/httpio/descriptors"
	"github.com/sluiceproxy/sluice/httpio/replay"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/loadbalancer/retry"
	"github.com/sluiceproxy/sluice/middleware"
	"github.com/sluiceproxy/sluice/router/rule"
	"github.com/sluiceproxy/sluice/router/service"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/metrics"
)

// Options are what a Compiler needs beside the dynamic configuration.
type Options struct {
	// Templates are what listeners inherit from the entrypoints of the static configuration that they name as template, by
	// name; the one of the empty name is for listeners without a template. Nil has the EntryPoints, and a zero one.
	Templates map[string]EntryPoint
	// Sockets opens the sockets of listeners; nil opens none.
	Sockets Sockets
	// EntryPoints are the TCP entrypoints that routers can listen on, PacketEntryPoints the names of those for UDP.
	EntryPoints       []EntryPoint
	PacketEntryPoints []string
	// Precedence orders providers for routers that their priority, precedence and creation time do not order, first wins;
	// providers that it does not name come last.
	Precedence []string
	// RuleSyntax is the syntax of rules whose router names none: v3, which is the default, or v2 (core.defaultRuleSyntax).
	RuleSyntax string
	// Registry holds the pools; nil means that the compiler makes its own, which checks no endpoint.
	Registry *loadbalancer.Registry
	// Internal are the services that Sluice itself answers (ping@internal and so on), by qualified name.
	Internal map[string]http.Handler
	// Transport is the static serversTransport; nil means the defaults.
	Transport *dynamic.ServersTransport
	// TCPTransport is the static tcpServersTransport; nil means the defaults.
	TCPTransport *dynamic.TCPServersTransport
	// Identity authenticates the connections of transports with the option spiffe; nil refuses such transports.
	Identity forward.Identity
	// Tickets holds the keys of TLS session tickets across reloads; nil means that no session is resumed.
	Tickets *certificate.Tickets
	// Resolvers are the names of the resolvers that obtain certificates (certificatesResolvers).
	Resolvers []string
	// Obtain returns certificates for clients whose SNI no certificate names; nil means that there are none.
	Obtain certificate.Obtain
	// Demands takes what routers need of resolvers; nil means that nothing does.
	Demands Demands
	// Staples takes the certificates that serve, to staple OCSP responses; nil means that none are stapled.
	Staples Staples
	// Mirrors carries out requests to the mirrors of mirroring services; nil means that the compiler makes its own, whose
	// requests end by themselves.
	Mirrors *service.Mirrors
	// Meter counts requests by router and service; nil counts none.
	Meter Meter
	// Watched is what any sink needs of requests; Internals is what any sink needs of requests to Sluice's own services
	// (addInternals).
	Watched, Internals telemetry.Observe
	// RequireAuth closes routers to the API that nothing guards (api.requireAuth).
	RequireAuth bool
	// Dial connects to endpoints of HTTP and TCP services in place of a [net.Dialer]; nil is one. It is for tests, and for
	// commands that must not reach the endpoints.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Descriptors are those that connections to endpoints leave in reserve, but for active checks; nil keeps none.
	Descriptors *descriptors.Limit
	// Control decides about each connection to an endpoint of an HTTP or TCP service, unless Dial makes it; nil permits
	// all.
	Control httpio.Control
	// Middlewares makes the middlewares; nil means that the compiler makes its own builder, which logs nothing.
	Middlewares *middleware.Builder
}

// ResolverSuffix is behind the name of a resolver in the name of the provider of its certificates, as in Traefik.
const ResolverSuffix = ".acme"

// Staples takes the certificates that serve from now on; ocsp.Stapler does.
type Staples interface {
	// Serve takes all of them, in place of those before. It must not block.
	Serve(served []certificate.Served)
}

// Demands takes what routers need of the resolvers that obtain certificates.
type Demands interface {
	// Want replaces what was needed before. covered reports whether a configured certificate names a host. It must not
	// block; the list is not changed.
	Want(demands []certificate.Demand, covered func(host string) bool)
}

// EntryPoint is what a router inherits from an entrypoint (entryPoints.<name>.http) or from a listener of a provider.
type EntryPoint struct {
	Name string
	// Protocol is that of a listener; empty for an entrypoint.
	Protocol dynamic.ListenerProtocol
	// Port is the port it listens on, and Policy its form of paths; explain applies both.
	Port   int
	Policy canonical.Policy
	// Default entrypoints take the routers that name none.
	Default bool
	// Middlewares are put before those of each router; qualified names.
	Middlewares []string
	// TLS applies to routers without a tls part of their own; nil means none.
	TLS *dynamic.RouterTLS
	// Observe is what routers record that do not say otherwise (entryPoints.<name>.observability).
	Observe telemetry.Observe
	// PreferHTTP gives connections that begin with a request of HTTP to HTTP routers whatever TCP router without TLS there
	// is (entryPoints.<name>.tcp.preferHTTP).
	PreferHTTP bool
	// Loopback says that the entrypoint listens on a loopback address alone.
	Loopback bool
	// AnyForwarded says that it trusts X-Forwarded-For of every peer, AnyPeer that it trusts the PROXY protocol of every
	// peer.
	AnyForwarded, AnyPeer bool
	// OwnOptions are those options which the entrypoint sets and which listeners do not take from their template.
	OwnOptions []string
}

// Options that listeners do not take from their template: their provider decides about TLS and redirections, and they
// have no HTTP/3.
const (
	OptionTLS          = "http.tls"
	OptionRedirections = "http.redirections"
	OptionHTTP3        = "http3"
)

// Meter counts requests by router and service.
type Meter interface {
	// Router returns what counts the requests that a router answers with a service, by their qualified names.
	Router(name, service string) *metrics.Series
	// Service returns what counts the requests that a load balancer answers.
	Service(name string) *metrics.Series
}

// Input is the input of one compilation.
type Input struct {
	// Configuration is the merged configuration of all providers, with qualified names. Its Verdicts are those of the
	// providers and of the merge: a quarantined object keeps its place and does not serve.
	Configuration *dynamic.Configuration
	// Changed lists, in order, every object that was added, changed or removed, or whose verdict by its provider changed,
	// since the configuration of the last Compiled that was activated. All other objects have kept their pointers.
	Changed []dynamic.Ref
	// Final is false while the settle window is open, in which a missing reference may only be late: a router whose
	// reference went missing then keeps its last good handler. Its verdict is the same as with Final.
	Final bool
}

// Compiled is the result of a compilation, which serves only after Activate.
type Compiled struct {
	// Verdicts holds the verdicts of all objects that are not accepted as declared: the whole state, not a difference.
	Verdicts []dynamic.Verdict
	// AddedEndpointSets and RemovedEndpointSets hold the keys of the endpoint sets, also dns/name:port, that services name
	// since this compilation, or do not name any more. They are in no order, and relative to the compilation before,
	// activated or not; the first compilation adds all.
	AddedEndpointSets, RemovedEndpointSets []string
	// StaleRoutes lists the routers that keep their last good handler although a reference is missing. They need another
	// compilation, with Input.Final, when the settle window is over.
	StaleRoutes []dynamic.Ref
	// Unchanged says that the table routes exactly as the active one.
	Unchanged bool
	// Activate makes the table serve as this generation and releases what it no longer uses. It is called at most once, by
	// the goroutine that compiles, and not at all when a later compilation supersedes this one.
	Activate func(generation uint64)
}

// Compiler turns configurations into tables. It belongs to one goroutine.
type Compiler struct {
	options     Options
	target      *ActiveTable
	source      source
	graph       *graph
	references  referenceStack
	middlewares map[string]*middlewareNode
	transports  map[string]*transportNode
	services    map[string]*serviceNode
	routers     map[string]*routerNode
	patterns    rule.Patterns
	tcp         tcpObjects
	udp         udpObjects
	tls         *tlsObjects
	pools       *pools
	// retry is the policy of services that declare none.
	retry *retry.Policy
	// rotations are what services of services keep when they are built anew, memory bounds the bodies that they keep.
	rotations map[string]*service.State
	memory    *replay.Memory
	// instances are the middlewares that were built, and what they keep for their owners.
	instances *middlewareInstances
	table     *Table
	listeners listeners
	// waiting are the routers that serve as they last did, until the configuration settles.
	waiting []dynamic.Ref
	// faults are the verdicts on objects that are not accepted as declared, sets the endpoint sets with the number of
	// services that name them.
	faults map[dynamic.Ref]dynamic.Verdict
	sets   map[string]int
	// needed is what routers needed of resolvers at the last activation; it is collected anew if demandsChanged.
	needed         []certificate.Demand
	demandsChanged bool
	// setsBefore holds, for each endpoint set that the compilation under way has counted, whether it was named before.
	setsBefore map[string]bool
}

// bodyMemory bounds the request bodies that services of services buffer. It also bounds a body whose option sets no
// limit.
const bodyMemory = 64 << 20

// NewCompiler returns a compiler whose tables serve through target.
func NewCompiler(options Options, target *ActiveTable) *Compiler {
	if options.Registry == nil {
		options.Registry = loadbalancer.NewRegistry(loadbalancer.Options{})
	}
	if options.Transport == nil {
		options.Transport = &dynamic.ServersTransport{}
		options.Transport.SetDefaults()
	}
	if options.TCPTransport == nil {
		options.TCPTransport = &dynamic.TCPServersTransport{}
		options.TCPTransport.SetDefaults()
	}
	if options.Mirrors == nil {
		options.Mirrors = service.NewMirrors()
	}
	if options.Templates == nil {
		options.Templates = map[string]EntryPoint{"": {}}
		for _, entrypoint := range options.EntryPoints {
			options.Templates[entrypoint.Name] = entrypoint
		}
	}
	if options.Middlewares == nil {
		options.Middlewares = middleware.NewBuilder(middleware.Options{})
	}
	defaultRetry, _ := retry.New(nil) // The defaults are valid.
	compiler := &Compiler{
		options:     options,
		target:      target,
		source:      newSource(&dynamic.Configuration{}),
		graph:       newGraph(),
		references:  referenceStack{on: map[dynamic.Ref]struct{}{}},
		middlewares: map[string]*middlewareNode{},
		transports:  map[string]*transportNode{},
		services:    map[string]*serviceNode{},
		routers:     map[string]*routerNode{},
		tls:         newTLSObjects(options),
		pools:       newPools(options.Registry),
		retry:       defaultRetry,
		rotations:   map[string]*service.State{},
		instances:   newMiddlewareInstances(options.Middlewares.Files()),
		memory:      replay.NewMemory(bodyMemory),
		table:       newTable(options.EntryPoints),
		listeners:   listeners{all: map[string]*listenerNode{}, sites: newSites(nil)},
		faults:      map[dynamic.Ref]dynamic.Verdict{},
		sets:        map[string]int{},
		setsBefore:  map[string]bool{},
	}
	compiler.tcp, compiler.udp = compiler.newTCPObjects(), compiler.newUDPObjects()
	return compiler
}

// Compile builds what the changes reach and returns the next table, not yet serving. It starts nothing: no connection,
// no check of an endpoint, no watch over a file. It reads the files that the configuration names.
func (c *Compiler) Compile(input Input) Compiled {
	c.source = newSource(input.Configuration)
	relisten := c.updateListeners(input.Changed)
	c.tls.listen(&c.listeners)
	claimed := c.tls.claim(c.source, input.Changed)
	dirty := c.graph.affected(slices.Concat(input.Changed, c.waiting, relisten, claimed))
	c.waiting = nil
	for ref := range dirty {
		c.forget(ref)
	}
	c.tls.update(c.source, dirty, c.options.Resolvers)
	c.demandsChanged = c.demandsChanged || c.tls.renewed // The default certificate may be another one.
	for ref := range dirty {
		c.resolve(ref)
	}
	if len(relisten) > 0 {
		c.table = c.table.withListeners(&c.listeners, c.tls)
	}
	c.table = c.rebuildUDP(c.listEnvironments(c.rebuild(dirty, input.Final), dirty), dirty, input.Final)
	for ref := range dirty {
		c.judge(ref)
	}
	table := c.table
	added, removed := c.changedSets()
	return Compiled{
		Verdicts:            c.verdicts(),
		AddedEndpointSets:   added,
		RemovedEndpointSets: removed,
		StaleRoutes:         c.waiting,
		Unchanged:           table == c.target.Table() && c.tls.next == c.tls.set.Load(),
		Activate: func(generation uint64) {
			c.pools.activate(c.usesPool, len(c.waiting) > 0)
			c.instances.activate()
			c.tcp.publish()
			c.tls.activate()
			c.serve(table, generation)
			c.demand()
			if len(c.waiting) == 0 { // Routers that serve as they last did may still use what is gone.
				c.instances.retire()
			}
		},
	}
}

// forget drops what was built for an object.
func (c *Compiler) forget(ref dynamic.Ref) {
	c.graph.forget(ref)
	switch ref.Kind {
	case dynamic.KindMiddleware:
		delete(c.middlewares, ref.Name)
		c.instances.replace(ref.Name)
	case dynamic.KindServersTransport:
		delete(c.transports, ref.Name)
	case dynamic.KindService:
		if node := c.services[ref.Name]; node != nil {
			c.countSets(node.sets, -1)
		}
		delete(c.services, ref.Name)
		c.pools.suspect(ref.Name)
	case dynamic.KindTCPMiddleware:
		delete(c.tcp.middlewares, ref.Name)
	case dynamic.KindTCPServersTransport:
		delete(c.tcp.transports, ref.Name)
	case dynamic.KindTCPService:
		c.tcp.services.forget(c, ref.Name)
	case dynamic.KindUDPService:
		c.udp.services.forget(c, ref.Name)
	}
}

// countSets notes how many pools use each endpoint set.
func (c *Compiler) countSets(keys []string, by int) {
	for _, key := range keys {
		if _, counted := c.setsBefore[key]; !counted {
			c.setsBefore[key] = c.sets[key] > 0
		}
		if c.sets[key] += by; c.sets[key] == 0 {
			delete(c.sets, key)
		}
	}
}

// changedSets returns the endpoint sets that services name since this compilation, and those that none names any more.
func (c *Compiler) changedSets() (added, removed []string) {
	for key, before := range c.setsBefore {
		switch _, named := c.sets[key]; {
		case named && !before:
			added = append(added, key)
		case before && !named:
			removed = append(removed, key)
		}
	}
	c.setsBefore = map[string]bool{}
	return added, removed
}

// resolve builds an object even if no router needs it, so that check finds its faults; absent objects stay absent.
func (c *Compiler) resolve(ref dynamic.Ref) {
	switch ref.Kind {
	case dynamic.KindMiddleware:
		if c.source.middleware(ref.Name) != nil {
			c.middleware(ref.Name)
		}
	case dynamic.KindServersTransport:
		if c.source.transport(ref.Name) != nil {
			c.transport(ref)
		}
	case dynamic.KindService:
		if c.source.service(ref.Name) != nil {
			c.service(ref.Name)
		} else {
			delete(c.rotations, ref.Name)
			c.instances.drop(ref)
		}
	case dynamic.KindTCPMiddleware:
		if c.source.tcpMiddleware(ref.Name) != nil {
			c.tcpMiddleware(ref.Name)
		} else {
			delete(c.tcp.steps, ref.Name)
			c.tcp.changed = true
		}
	case dynamic.KindTCPServersTransport:
		if c.source.tcpTransport(ref.Name) != nil {
			c.tcpTransport(ref)
		}
	case dynamic.KindTCPService:
		if c.source.tcpService(ref.Name) != nil {
			c.tcp.services.service(c, ref.Name)
		} else {
			delete(c.tcp.services.rotations, ref.Name)
		}
	case dynamic.KindUDPService:
		if c.source.udpService(ref.Name) != nil {
			c.udp.services.service(c, ref.Name)
		} else {
			delete(c.udp.services.rotations, ref.Name)
		}
	}
}

// Middlewares yields the middlewares of the table that serves that count or have state, by name. It may be called from
// any goroutine.
func (c *Compiler) Middlewares() iter.Seq[MiddlewareStatus] { return c.instances.all() }

// usesPool reports whether a service that exists needs a pool.
func (c *Compiler) usesPool(name string) bool {
	if service, ok := strings.CutPrefix(name, tcpPool); ok {
		return c.tcp.services.usesPool(service)
	}
	if service, ok := strings.CutPrefix(name, udpPool); ok {
		return c.udp.services.usesPool(service)
	}
	node, known := c.services[name]
	return known && node.pool != nil
}
