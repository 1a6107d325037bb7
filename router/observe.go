package router

import (
	"cmp"
	"fmt"
	"net/http"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/middleware"
	"github.com/sluiceproxy/sluice/telemetry"
)

// The values of observability.traceVerbosity.
const (
	verbosityMinimal  = "minimal"
	verbosityDetailed = "detailed"
)

// observe decides what is recorded of the requests that a route answers: the router's option, or else that of its
// entrypoint, as far as a sink needs it.
func (c *Compiler) observe(route *Route, definition *dynamic.Router, entrypoint EntryPoint, service *serviceNode,
	node *routerNode,
) {
	seen := entrypoint.Observe
	if own := definition.Observability; own != nil {
		seen = override(seen, own.AccessLogs, telemetry.ObserveAccess)
		seen = override(seen, own.Metrics, telemetry.ObserveMetrics)
		seen = override(seen, own.Tracing, telemetry.ObserveTrace)
		switch own.TraceVerbosity {
		case "":
		case verbosityMinimal:
			seen &^= telemetry.ObserveDetail
		case verbosityDetailed:
			seen |= telemetry.ObserveDetail
		default:
			node.warn(dynamic.CodeIneffectiveOption,
				fmt.Sprintf("observability.traceVerbosity %q is neither minimal nor detailed, and has no effect",
					own.TraceVerbosity))
		}
	}
	route.ingress = ingressOf(definition)
	watched := c.options.Watched
	name := Qualify(definition.Service, providerOf(route.Name))
	if service != nil {
		name = service.name
	}
	if _, internal := c.options.Internal[name]; internal {
		watched &= c.options.Internals
	}
	route.seen = seen & watched
	if !route.seen.Has(telemetry.ObserveTrace) {
		route.seen &^= telemetry.ObserveDetail
	}
	if c.options.Meter != nil && route.seen.Has(telemetry.ObserveMetrics) {
		route.series = c.options.Meter.Router(route.Name, name)
	}
}

// ingressOf returns the Ingress that a router was made of, or nil.
func ingressOf(definition *dynamic.Router) *telemetry.Ingress {
	if definition.Observability == nil || definition.Observability.Metadata == nil ||
		definition.Observability.Metadata.Ingress == nil {
		return nil
	}
	said := definition.Observability.Metadata.Ingress
	return &telemetry.Ingress{
		Namespace: said.Namespace, Name: said.IngressName, Service: said.ServiceName,
		Port: said.ServicePort,
	}
}

func override(seen telemetry.Observe, own *bool, bit telemetry.Observe) telemetry.Observe {
	switch {
	case own == nil:
		return seen
	case *own:
		return seen | bit
	}
	return seen &^ bit
}

// warn notes a warning once, also for a router on several entrypoints.
func (n *routerNode) warn(code dynamic.Code, warning string) {
	for _, known := range n.warnings {
		if known == warning {
			return
		}
	}
	n.warnings = append(n.warnings, warning)
	n.warningCode = cmp.Or(n.warningCode, code)
}

// wrap puts steps around the service, with a span around each part where a sampled request shall show them.
func (r *Route) wrap(steps []middleware.Middleware, service *serviceNode, retains bool) (whole http.Handler,
	keeps bool,
) {
	if !r.seen.Has(telemetry.ObserveDetail) {
		return wrap(steps, service.handler, retains)
	}
	shown := make([]middleware.Middleware, len(steps))
	for i, step := range steps {
		shown[i] = spanned{Middleware: step, name: r.steps[i]}
		if _, ok := step.(httpio.NoRetainer); ok {
			shown[i] = transientSpanned{spanned{Middleware: step, name: r.steps[i]}}
		}
	}
	inner := part{next: service.handler, name: "Service", attributes: [][2]string{{"traefik.service.name", service.name}}}
	whole, keeps = wrap(shown, inner, retains)
	return part{next: whole, name: "Router", attributes: [][2]string{
		{"traefik.router.name", r.Name}, {"traefik.service.name", service.name}, {"http.route", r.Rule},
	}}, keeps
}

// spanned is a middleware whose part of a sampled request is a span.
type spanned struct {
	middleware.Middleware
	name string
}

// Wrap wraps as the middleware does.
func (s spanned) Wrap(next http.Handler) http.Handler {
	return part{next: s.Middleware.Wrap(next), name: s.name, attributes: [][2]string{{"traefik.middleware.name", s.name}}}
}

// transientSpanned is one of a middleware that keeps nothing.
type transientSpanned struct{ spanned }

// NoRetain implements httpio.NoRetainer.
func (transientSpanned) NoRetain() {}

// part is a handler whose time is a span of its own in sampled requests.
type part struct {
	next       http.Handler
	name       string
	attributes [][2]string
}

// ServeHTTP lets the handler answer within a span.
func (p part) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	record := telemetry.RecordFrom(r.Context())
	if record.Span == nil {
		p.next.ServeHTTP(w, r)
		return
	}
	outer := record.Span
	span := outer.Child(p.name, false)
	for _, attribute := range p.attributes {
		span.Set(attribute[0], attribute[1])
	}
	record.Span = span
	defer func() {
		record.Span = outer
		span.End("")
	}()
	p.next.ServeHTTP(w, r)
}
