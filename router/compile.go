package router

import (
	"iter"
	"maps"
	"net/http"
	"slices"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/middleware"
	"github.com/sluiceproxy/sluice/router/service"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Options are what a Compiler needs beside the dynamic configuration.
type Options struct {
	// EntryPoints are the TCP entrypoints that routers can listen on.
	EntryPoints []EntryPoint
	// Precedence orders providers for routers of equal priority, first wins; providers that it does not name come last.
	Precedence []string
	// Registry holds the pools.
	Registry *loadbalancer.Registry
	// Internal are the services that Sluice itself answers (ping@internal and so on), by qualified name.
	Internal map[string]http.Handler
	// Transport is the static serversTransport.
	Transport *dynamic.ServersTransport
	// Tickets holds the keys of TLS session tickets across reloads.
	Tickets *certificate.Tickets
	// Mirrors carries out requests to the mirrors of mirroring services; nil means that the compiler makes its own, whose
	// requests end by themselves.
	Mirrors *service.Mirrors
	// Meter counts requests by router and service; nil counts none.
	Meter Meter
	// Watched is what anybody wants to know of requests at all; Internals is what anybody wants to know of requests to Sluice's own services
	// (addInternals).
	Watched, Internals telemetry.Observe
	// RequireAuth closes routers to the API that nothing guards (api.requireAuth).
	RequireAuth bool
	// Middlewares makes the middlewares; nil means that the compiler makes its own builder, which logs nothing.
	Middlewares *middleware.Builder
}

// EntryPoint is what a router inherits from an entrypoint (entryPoints.<name>.http).
type EntryPoint struct {
	Name string
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
	// Loopback says that the entrypoint listens on a loopback address alone.
	Loopback bool
	// AnyForwarded says that it believes X-Forwarded-For whoever sends it, AnyPeer that it believes the PROXY protocol whoever speaks it.
	AnyForwarded, AnyPeer bool
}

// Meter counts requests by router and service.
type Meter interface {
	// Router returns what counts the requests that a router answers with a service, by their qualified names.
	Router(name, service string) *telemetry.Series
	// Service returns what counts the requests that a load balancer answers.
	Service(name string) *telemetry.Series
}

// Input is one compilation's input.
type Input struct {
	// Configuration is the whole merged state, Changed the objects that differ from the last input.
	Configuration *dynamic.Configuration
	Changed       []dynamic.Ref
	// Settled is false while the configuration is younger than the quiet window: a router whose references are missing
	// then keeps serving as it last did.
	Settled bool
}

// Compiled is the result of a compilation, which serves only after Activate.
type Compiled struct {
	// Verdicts holds every object that is not accepted.
	Verdicts []dynamic.Verdict
	// EndpointSets are the keys of all endpoint sets that services name.
	EndpointSets []string
	// Kept says that routers serve as they last did although a reference is missing.
	Kept bool
	// Activate swaps the table in as this generation and lets go of what it no longer uses. It is called at most once, by the goroutine that
	// compiles, and not at all when a later compilation supersedes this one.
	Activate func(generation uint64)
}

// Compiler turns configurations into tables. It belongs to one goroutine.
type Compiler struct {
	options     Options
	target      *Switch
	source      source
	graph       *graph
	way         way
	middlewares map[string]*middlewareNode
	transports  map[string]*transportNode
	services    map[string]*serviceNode
	routers     map[string]*routerNode
	tls         *tlsObjects
	pools       *pools
	// rotations are what services of services keep when they are built anew, memory bounds the bodies that they keep.
	rotations map[string]*service.State
	memory    *service.Memory
	// states are what middlewares keep for their owners.
	states *states
	table  *Table
	// waiting are the routers that serve as they last did, until the configuration settles.
	waiting []dynamic.Ref
	// faults are the objects that are not accepted, sets the endpoint sets with the number of services that name them.
	faults map[dynamic.Ref]fault
	sets   map[string]int
}

// NewCompiler returns a compiler whose tables serve through target.
func NewCompiler(options Options, target *Switch) *Compiler {
	if options.Mirrors == nil {
		options.Mirrors = service.NewMirrors()
	}
	if options.Middlewares == nil {
		options.Middlewares = middleware.NewBuilder(middleware.Options{})
	}
	return &Compiler{
		options:     options,
		target:      target,
		source:      newSource(&dynamic.Configuration{}),
		graph:       newGraph(),
		way:         way{on: map[dynamic.Ref]struct{}{}},
		middlewares: map[string]*middlewareNode{},
		transports:  map[string]*transportNode{},
		services:    map[string]*serviceNode{},
		routers:     map[string]*routerNode{},
		tls:         newTLSObjects(options.Tickets),
		pools:       newPools(options.Registry),
		rotations:   map[string]*service.State{},
		states:      newStates(),
		memory:      service.NewMemory(service.DefaultMemory),
		table:       newTable(options.EntryPoints),
		faults:      map[dynamic.Ref]fault{},
		sets:        map[string]int{},
	}
}

// Compile builds what the changes reach and returns the next table, not yet serving.
func (c *Compiler) Compile(input Input) Compiled {
	c.source = newSource(input.Configuration)
	dirty := c.graph.affected(append(append([]dynamic.Ref(nil), input.Changed...), c.waiting...))
	c.waiting = nil
	for ref := range dirty {
		c.forget(ref)
	}
	c.tls.update(c.source, dirty)
	for ref := range dirty {
		c.resolve(ref)
	}
	c.table = c.rebuild(dirty, input.Settled)
	for ref := range dirty {
		c.judge(ref)
	}
	table := c.table
	return Compiled{
		Verdicts:     c.verdicts(),
		EndpointSets: slices.Collect(maps.Keys(c.sets)),
		Kept:         len(c.waiting) > 0,
		Activate: func(generation uint64) {
			c.pools.activate(c.usesPool, len(c.waiting) > 0)
			c.tls.activate()
			c.target.store(table, generation)
			if len(c.waiting) == 0 { // Routers that serve as they last did may still use what is gone.
				c.states.close()
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
		c.states.retire(ref.Name)
		c.options.Middlewares.Forget(ref.Name)
	case dynamic.KindServersTransport:
		delete(c.transports, ref.Name)
	case dynamic.KindService:
		if node := c.services[ref.Name]; node != nil {
			c.countSets(node, -1)
		}
		delete(c.services, ref.Name)
		c.pools.suspect(ref.Name)
	}
}

// countSets notes how many pools use each endpoint set.
func (c *Compiler) countSets(node *serviceNode, by int) {
	for _, key := range node.sets {
		if c.sets[key] += by; c.sets[key] == 0 {
			delete(c.sets, key)
		}
	}
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
			c.states.drop(ref)
		}
	}
}

// Middlewares returns the middlewares that count or have state, as they stand now, by name. It may be called from any goroutine.
func (c *Compiler) Middlewares() iter.Seq[MiddlewareStanding] { return c.states.all() }

// usesPool tells whether a service that exists needs a pool.
func (c *Compiler) usesPool(name string) bool {
	node, known := c.services[name]
	return known && node.pool != nil
}
