package router

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward/datagram"
	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/middleware"
	"github.com/sluiceproxy/sluice/router/index"
	"github.com/sluiceproxy/sluice/router/rule"
	"github.com/sluiceproxy/sluice/router/rule/expression"
	"github.com/sluiceproxy/sluice/router/tcp"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/metrics"
)

// maxPriority is the highest priority that a declared router may have; what is above belongs to Sluice's own routers.
const maxPriority = expression.MaxPriority

// internalProvider is the provider of the objects that Sluice generates from its static configuration.
const internalProvider = "internal"

// routerNode is a compiled router: one route for each of its entrypoints. One of the section http has routes, one of
// the section tcp has streams, and one of the section udp has the same packets on all of its packetEntryPoints.
type routerNode struct {
	routes  []placed
	streams []*tcp.Route[*TCPRoute]

	packets           *datagram.Route
	packetEntryPoints []string

	warnings []string
	// warningCode is the code of the first warning.
	warningCode dynamic.Code
	err         error
	// late is why the router would not serve, while it goes on as it last did because the configuration is not settled.
	late error
	// demands is what the router needs of resolvers that obtain certificates.
	demands []certificate.Demand
}

// placed is a route on an entrypoint, among those for TLS connections or for plain ones.
type placed struct {
	entrypoint string
	secure     bool
	route      *index.Route[*Route]
}

// buildRouter compiles one router. A router with a fault keeps its place and answers 503, as long as its rule compiles.
func (c *Compiler) buildRouter(name string) *routerNode {
	definition := c.source.router(name)
	if definition == nil {
		return nil
	}
	ref := dynamic.Ref{Kind: dynamic.KindRouter, Name: name}
	node := &routerNode{}
	parsed, err := parseRule(definition, c.options.RuleSyntax, &c.patterns)
	if err != nil {
		node.err = &coded{code: dynamic.CodeInvalidRule, error: err}
		if refusal := c.source.refused(ref); refusal != nil && !errors.Is(refusal, errMissing) {
			node.err = refusal
		}
		return node
	}
	entrypoints := c.entryPointsOf(ref, definition.EntryPoints, node)
	service, err := c.serviceOf(ref, definition)
	node.err = errors.Join(c.source.refused(ref), node.err, err)
	own := c.instances.of(ref)
	for _, entrypoint := range entrypoints {
		c.place(ref, definition, node, entrypoint, parsed, service, own)
	}
	own.finish(node.err == nil)
	if node.err != nil {
		node.err = firstOf(node.err)
		for _, place := range node.routes {
			place.route.Value.disable(node.err)
		}
	}
	return node
}

// joinedErrors is what errors.Join returns.
type joinedErrors interface{ Unwrap() []error }

// firstOf reduces joined faults to the first: one clear sentence an object. Joined errors inside a fault, such as those
// of a list of addresses, stay.
func firstOf(err error) error {
	if joined, ok := err.(joinedErrors); ok {
		if all := joined.Unwrap(); len(all) > 0 {
			return firstOf(all[0])
		}
	}
	return err
}

// entryPointsOf returns the entrypoints of a router that exist.
func (c *Compiler) entryPointsOf(ref dynamic.Ref, declared []string, node *routerNode) []EntryPoint {
	var found []EntryPoint
	if len(declared) == 0 {
		for _, entrypoint := range c.options.EntryPoints {
			if entrypoint.Default {
				found = append(found, entrypoint)
			}
		}
		if len(found) == 0 {
			node.err = &coded{
				code: dynamic.CodeMissingEntryPoint, error: errors.New("it names no entrypoint and there is no default one"),
			}
		}
		return found
	}
	for _, name := range declared {
		if foreign(name, ref.Name) {
			node.warn(dynamic.CodeReferenceNotPermitted, refuseForeign(name))
			continue
		}
		if dynamic.NamesListener(name) {
			c.graph.depend(ref, listenerRef(name))
		}
		entrypoint, ok := c.entryPoint(name)
		switch {
		case !ok:
			node.warn(dynamic.CodeMissingEntryPoint, c.missingEntryPoint(name))
		case !entrypoint.takes(ref.Kind):
			node.warn(dynamic.CodeMissingEntryPoint, entrypoint.refusal(ref.Kind))
		case !slices.ContainsFunc(found, func(e EntryPoint) bool { return e.Name == name }):
			found = append(found, entrypoint)
		}
	}
	if len(found) == 0 {
		node.err = &coded{code: node.warningCode, error: c.noEntryPoint(node.warnings)}
		node.warnings, node.warningCode = nil, ""
	}
	return found
}

func (c *Compiler) serviceOf(ref dynamic.Ref, definition *dynamic.Router) (*serviceNode, error) {
	if definition.Priority > maxPriority && providerOf(ref.Name) != internalProvider {
		return nil, fmt.Errorf("priority %d is above %d", definition.Priority, maxPriority)
	}
	if definition.Service == "" {
		return nil, errors.New("the service is missing")
	}
	on := dynamic.Ref{Kind: dynamic.KindService, Name: Qualify(definition.Service, providerOf(ref.Name))}
	service := c.service(on.Name)
	on.Name = service.name // All that refer to a service share the text of its name.
	c.graph.depend(ref, on)
	if service.err != nil {
		return nil, because(on, service.err)
	}
	return service, nil
}

// place compiles the router's route on one entrypoint.
func (c *Compiler) place(ref dynamic.Ref, definition *dynamic.Router, node *routerNode, entrypoint EntryPoint,
	parsed *rule.Rule, service *serviceNode, own *ownerInstances,
) {
	route := &Route{Name: ref.Name, Rule: parsed.String(), EntryPoint: entrypoint.Name, hostNamed: parsed.NamesHosts()}
	route.class = c.classOf(definition, service, node)
	c.observe(route, definition, entrypoint, service, node)
	secure := entrypoint.secured(definition.TLS)
	if secure != nil {
		node.err = errors.Join(node.err, c.secure(ref, route, secure, parsed, node))
	}
	around := c.chain(ref, append(slices.Clone(entrypoint.Middlewares), qualifyAll(definition.Middlewares, ref.Name)...),
		internalProvider)
	node.err = errors.Join(node.err, around.err)
	if node.err == nil {
		node.err = c.guard(route, around, service, entrypoint, node)
	}
	if service != nil && node.err == nil {
		if service.selects {
			c.checkHeaders(node, c.choosers(around.names), service)
		}
		route.enable(around, own.resolve(around.steps), service)
	}
	priority := definition.Priority
	if priority == 0 {
		priority = parsed.Length()
	}
	node.routes = append(node.routes, placed{
		entrypoint: entrypoint.Name,
		secure:     secure != nil,
		route: &index.Route[*Route]{
			Name: ref.Name, Rule: parsed, Priority: priority, Precedence: definition.Precedence,
			// Without a monotonic clock reading, since all creation times have to be comparable with each other.
			Created: definition.Created.Round(0), Provider: c.providerRank(ref.Name), Value: route,
		},
	})
}

// secure chooses the TLS options of a route, under which its connections must have been accepted. Where the default
// ones of its entrypoint cannot be used, no connection is, except for hosts with options of their own, which a route
// without a host serves; its routes on other entrypoints serve.
func (c *Compiler) secure(
	ref dynamic.Ref, route *Route, config *dynamic.RouterTLS, parsed *rule.Rule, node *routerNode,
) error {
	name := tlsOptionsName(config.Options, providerOf(ref.Name))
	on := dynamic.Ref{Kind: dynamic.KindTLSOptions, Name: name}
	c.graph.depend(ref, on)
	if name == dynamic.DefaultTLSName {
		on = c.tls.defaultOf(route.EntryPoint)
		c.graph.depend(ref, on)
	}
	route.domains, route.certResolver = parsed.Domains(), config.CertResolver != ""
	c.need(ref, config, route.domains, node)
	options, err := c.tls.options(c.source, on)
	switch {
	case err != nil && on.Name != name:
		served := "not served on entrypoint %q: %v"
		if len(route.domains) == 0 {
			served = "served on entrypoint %q only for hosts with TLS options of their own: %v"
		}
		node.warn(dynamic.CodeInvalidReference, fmt.Sprintf(served, route.EntryPoint, because(on, err)))
		return nil
	case err != nil:
		return because(on, err)
	}
	if len(route.domains) == 0 && name != dynamic.DefaultTLSName {
		return errors.New("tls.options needs a Host in the rule, since options are chosen before the request is read")
	}
	route.tls = options
	return nil
}

func qualifyAll(names []string, owner string) []string {
	qualified := make([]string, 0, len(names))
	for _, name := range names {
		qualified = append(qualified, Qualify(name, providerOf(owner)))
	}
	return qualified
}

// providerRank returns the place of an object's provider in the order of providers.
func (c *Compiler) providerRank(name string) int {
	provider := providerOf(name)
	if provider == internalProvider {
		return -1
	}
	if at := slices.IndexFunc(c.options.Precedence, func(n string) bool {
		return strings.EqualFold(n, provider)
	}); at >= 0 {
		return at
	}
	return len(c.options.Precedence)
}

// Route is one router on one entrypoint, ready to answer.
type Route struct {
	// Name is the router's qualified name, Rule its rule as text.
	Name string
	Rule string
	// EntryPoint is the name of the entrypoint.
	EntryPoint string

	handler http.Handler
	// recyclable says that no middleware or service retains a part of a request.
	recyclable bool
	// traceApart says that no middleware or service before the attempt reads the header of a request.
	traceApart bool
	service    *serviceNode
	// class decides which requests are refused while Sluice is overloaded.
	class dynamic.PriorityClass
	steps []string
	// rewriters are those of its middlewares that redirect requests or change their path.
	rewriters []targetRewriter
	// fault is why the route is disabled, reason the same for the record of a request, and code its stable name.
	fault, reason string
	code          telemetry.Code
	// seen is what is recorded of a request, and series what counts it. ingress is what the router was made of, if that is
	// an Ingress.
	seen    telemetry.Observe
	series  *metrics.Series
	ingress *telemetry.Ingress
	// hostNamed says that the rule admits no host but those that it names.
	hostNamed bool
	domains   []string
	tls       *certificate.Options
	// certResolver says that the router names a resolver of certificates.
	certResolver bool
}

func (r *Route) enable(around *middlewareNode, steps []middleware.Middleware, service *serviceNode) {
	r.service, r.steps, r.rewriters = service, around.names, targetRewriters(around.names, steps)
	handler, retains := r.wrap(steps, service, service.retains || around.retains)
	r.handler, r.recyclable = handler, !retains
	_, injects := service.handler.(httpio.TraceInjector)
	r.traceApart = injects && len(steps) == 0
}

// disable makes the route answer 503, so that no router below takes its traffic.
func (r *Route) disable(fault error) {
	r.handler, r.service, r.steps, r.rewriters, r.fault = nil, nil, nil, nil, fault.Error()
	r.code, r.reason = telemetry.CodeRouterDisabled, "the router is disabled: "+r.fault
	if errors.Is(fault, errUnguarded) {
		r.code = telemetry.CodeUnguarded
	}
}
