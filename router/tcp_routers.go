package router

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
	streamstep "github.com/sluiceproxy/sluice/middleware/stream"
	"github.com/sluiceproxy/sluice/router/tcp"
	tcprule "github.com/sluiceproxy/sluice/router/tcp/rule"
	"github.com/sluiceproxy/sluice/telemetry"
)

// tcpObjects holds what was compiled of the section tcp between compilations.
type tcpObjects struct {
	routers     map[string]*routerNode
	services    *tcpServices
	middlewares map[string]*tcpMiddlewareNode
	// steps are the last ones that were built of each middleware: the next takes over what it counts.
	steps map[string]streamstep.Step
	// changed says that steps differ from those that serve, which readers see.
	changed    bool
	serving    atomic.Pointer[map[string]streamstep.Step]
	transports map[string]*tcpTransportNode
}

// publish shows readers the middlewares of the table that begins to serve.
func (t *tcpObjects) publish() {
	if t.changed {
		t.changed = false
		t.serving.Store(new(maps.Clone(t.steps)))
	}
}

func (c *Compiler) newTCPObjects() tcpObjects {
	return tcpObjects{
		routers: map[string]*routerNode{}, services: c.newTCPServices(), middlewares: map[string]*tcpMiddlewareNode{},
		steps: map[string]streamstep.Step{}, transports: map[string]*tcpTransportNode{},
	}
}

// rebuildTCP compiles the TCP routers that a change reached, and returns what lists the routes of each entrypoint whose
// routes have changed.
func (c *Compiler) rebuildTCP(
	dirty map[dynamic.Ref]struct{}, final bool,
) map[string]func() []*tcp.Route[*TCPRoute] {
	touched := map[string]func() []*tcp.Route[*TCPRoute]{}
	note := func(node *routerNode) {
		if node == nil {
			return
		}
		for _, route := range node.streams {
			name := route.Value.EntryPoint
			touched[name] = func() []*tcp.Route[*TCPRoute] { return c.streamsOf(name) }
		}
	}
	for _, ref := range sorted(dirty, dynamic.KindTCPRouter) {
		before := c.tcp.routers[ref.Name]
		after := c.buildTCPRouter(ref)
		if c.keepsServing(before, after, final) {
			before.late = after.err
			c.waiting = append(c.waiting, ref)
			continue
		}
		note(before)
		note(after)
		c.demandsChanged = c.demandsChanged || demandsDiffer(before, after)
		if after == nil {
			delete(c.tcp.routers, ref.Name)
			continue
		}
		c.tcp.routers[ref.Name] = after
	}
	if c.tls.changed { // The certificates of entrypoints may be others.
		for _, name := range c.tls.names() {
			touched[name] = func() []*tcp.Route[*TCPRoute] { return c.streamsOf(name) }
		}
	}
	return touched
}

// buildTCPRouter compiles one TCP router. A router with a fault keeps its place and closes its connections, as long as
// its rule compiles.
func (c *Compiler) buildTCPRouter(ref dynamic.Ref) *routerNode {
	definition := c.source.tcpRouter(ref.Name)
	if definition == nil {
		return nil
	}
	node := &routerNode{}
	parsed, priority, err := parseTCPRule(definition)
	if err != nil {
		node.err = &coded{code: dynamic.CodeInvalidRule, error: err}
		if refusal := c.source.refused(ref); refusal != nil && !errors.Is(refusal, errMissing) {
			node.err = refusal
		}
		return node
	}
	entrypoints := c.entryPointsOf(ref, definition.EntryPoints, node)
	service, err := c.tcp.services.of(c, ref, definition.Service)
	node.err = errors.Join(c.source.refused(ref), node.err, err)
	steps, err := c.tcpSteps(ref, definition.Middlewares)
	node.err = errors.Join(node.err, err)
	for _, entrypoint := range entrypoints {
		route := &TCPRoute{
			Name: ref.Name, Rule: parsed.String(), EntryPoint: entrypoint.Name, service: service, steps: steps,
			middlewares: qualifyAll(definition.Middlewares, ref.Name), observe: entrypoint.Observe & c.options.Watched,
		}
		secure, err := entrypoint.securedStream(definition.TLS)
		node.err = errors.Join(node.err, err, c.secureTCP(ref, route, secure, parsed, node))
		node.streams = append(node.streams, &tcp.Route[*TCPRoute]{
			Name: ref.Name, Rule: parsed, Priority: priority, Created: definition.Created.Round(0),
			Position: c.providerRank(ref.Name), Value: route,
		})
	}
	if node.err != nil {
		node.err = firstOf(node.err)
		for _, route := range node.streams {
			route.Value.disable(node.err)
		}
	}
	return node
}

// parseTCPRule returns the rule of a TCP router and the router's priority.
func parseTCPRule(definition *dynamic.TCPRouter) (*tcprule.Rule, int, error) {
	if syntax := definition.RuleSyntax; syntax != "" && !strings.EqualFold(syntax, syntaxV3) {
		return nil, 0, fmt.Errorf("ruleSyntax: %q is not supported for TCP routers: write the rule in v3 and leave the "+
			"option out", syntax)
	}
	if definition.Rule == "" {
		return nil, 0, errors.New("the rule is missing")
	}
	parsed, err := tcprule.Parse(definition.Rule)
	if err != nil {
		return nil, 0, err
	}
	if definition.TLS == nil && parsed.NeedsSNI() {
		return nil, 0, errors.New("a HostSNI other than HostSNI(`*`) needs the section tls (tls: {} at least, or " +
			"tls.passthrough), since a server name comes with TLS alone")
	}
	priority, err := tcp.Priority(definition.Priority, parsed)
	return parsed, priority, err
}

// secureTCP chooses the TLS options of a route whose TLS ends here.
func (c *Compiler) secureTCP(
	ref dynamic.Ref, route *TCPRoute, config *dynamic.TCPRouterTLS, parsed *tcprule.Rule, node *routerNode,
) error {
	if config == nil {
		return nil
	}
	route.secure = true
	if config.Passthrough {
		if config.Options != "" || config.CertResolver != "" || len(config.Domains) > 0 {
			node.warn(dynamic.CodeIneffectiveOption,
				"tls.options, tls.certResolver and tls.domains have no effect with tls.passthrough")
		}
		return nil
	}
	name := tlsOptionsName(config.Options, providerOf(ref.Name))
	on := dynamic.Ref{Kind: dynamic.KindTLSOptions, Name: name}
	c.graph.depend(ref, on)
	if name == dynamic.DefaultTLSName {
		on = c.tls.defaultOf(route.EntryPoint)
		c.graph.depend(ref, on)
	}
	c.need(ref, &dynamic.RouterTLS{CertResolver: config.CertResolver, Domains: config.Domains}, parsed.Hosts(), node)
	options, err := c.tls.options(c.source, on)
	if err != nil {
		return because(on, err)
	}
	route.terminates, route.tls = true, options
	return nil
}

// TCPRoute is one TCP router on one entrypoint.
type TCPRoute struct {
	// Name is the router's qualified name, Rule its rule as text.
	Name string
	Rule string
	// EntryPoint is the name of the entrypoint.
	EntryPoint string

	// secure says that it takes connections with TLS, terminates that their TLS ends here under the options tls, which
	// present is of the entrypoint.
	secure, terminates bool
	tls, present       *certificate.Options
	steps              []tcpStep
	middlewares        []string
	service            *tcpServiceNode
	// fault is why the route is disabled.
	fault   error
	observe telemetry.Observe
}

// disable makes the route close its connections, so that no router below takes them.
func (r *TCPRoute) disable(fault error) { r.service, r.steps, r.fault = nil, nil, fault }

// bind returns the route with the certificates of its entrypoint.
func (r *TCPRoute) bind(bind func(*certificate.Options) *certificate.Options) *TCPRoute {
	if !r.terminates {
		return r
	}
	bound := *r
	bound.present = bind(r.tls)
	return &bound
}
