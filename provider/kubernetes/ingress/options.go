package ingress

import (
	"cmp"
	"strings"

	ptypes "github.com/traefik/paerser/types"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
)

// routerOptions are the annotations of an Ingress (router.*), which hold for all of its routers.
type routerOptions struct {
	PathMatcher   string                       `json:"pathMatcher"`
	EntryPoints   []string                     `json:"entryPoints"`
	Middlewares   []string                     `json:"middlewares"`
	Priority      int                          `json:"priority"`
	RuleSyntax    string                       `json:"ruleSyntax"`
	TLS           *dynamic.RouterTLS           `json:"tls" label:"allowEmpty"`
	Observability *dynamic.RouterObservability `json:"observability"`
}

// nativeRouterOptions are our annotations of an Ingress. Traefik's group has none of them.
type nativeRouterOptions struct {
	PriorityClass string `json:"priorityClass"`
}

// v2 reports whether paths are written in the language of Traefik v2.
func (o *routerOptions) v2() bool { return strings.EqualFold(o.RuleSyntax, "v2") }

// syntaxOf returns the syntax that the router of a path declares. Rules are made here, in v3, whatever the default is;
// only a path can bring templates of v2 with it.
func (o *routerOptions) syntaxOf(path string) string {
	switch strings.ToLower(o.RuleSyntax) {
	case "", "default", "v3":
		return "v3"
	case "v2":
		if !braces(path) {
			return "v3"
		}
	}
	return o.RuleSyntax
}

// serviceOptions are the annotations of a Service (service.*), which hold for all Ingresses that lead to it.
type serviceOptions struct {
	ServersScheme    string          `json:"serversScheme"`
	ServersTransport string          `json:"serversTransport"`
	PassHostHeader   *bool           `json:"passHostHeader"`
	Middlewares      []string        `json:"middlewares"`
	Sticky           *dynamic.Sticky `json:"sticky" label:"allowEmpty"`
	NativeLB         *bool           `json:"nativeLB"`
	NodePortLB       bool            `json:"nodePortLB"`
}

// balancingOptions are our annotations of a Service, named as in files. Traefik's group has none of them.
type balancingOptions struct {
	Strategy           string                            `json:"strategy"`
	Hash               *dynamic.HashStrategy             `json:"hash"`
	HealthCheck        *dynamic.ServerHealthCheck        `json:"healthCheck"`
	PassiveHealthCheck *dynamic.PassiveServerHealthCheck `json:"passiveHealthCheck"`
	OutlierDetection   *dynamic.OutlierDetection         `json:"outlierDetection"`
	PanicThreshold     int                               `json:"panicThreshold"`
	SlowStart          ptypes.Duration                   `json:"slowStart"`
	ZoneAware          *bool                             `json:"zoneAware"`
	DrainTimeout       ptypes.Duration                   `json:"drainTimeout"`
	Retry              *dynamic.ServerRetry              `json:"retry"`
	Limits             *dynamic.ServerLimits             `json:"limits"`
}

// apply puts the options into a load balancer.
func (o *balancingOptions) apply(balancer *dynamic.ServersLoadBalancer) {
	balancer.Strategy = cmp.Or(o.Strategy, balancer.Strategy)
	balancer.Hash, balancer.HealthCheck, balancer.PassiveHealthCheck = o.Hash, o.HealthCheck, o.PassiveHealthCheck
	balancer.OutlierDetection, balancer.PanicThreshold = o.OutlierDetection, o.PanicThreshold
	balancer.SlowStart, balancer.ZoneAware, balancer.DrainTimeout = o.SlowStart, o.ZoneAware, o.DrainTimeout
	balancer.Retry, balancer.Limits = o.Retry, o.Limits
}

// findings are what is wrong with the annotations of one object.
type findings struct {
	// refused cost whatever the annotations are for, ignored have no effect.
	refused, ignored []string
}

// problem joins what is refused, with what crossing found. It returns nil when nothing is refused.
func (f *findings) problem(where, crossing string) *backend.Problem {
	problem := &backend.Problem{Code: dynamic.CodeInvalidOption}
	if len(f.refused) == 0 {
		problem.Code = dynamic.CodeReferenceNotPermitted
	}
	reasons := f.refused
	if crossing != "" {
		reasons = append(reasons, crossing)
	}
	if len(reasons) == 0 {
		return nil
	}
	problem.Reason = where + strings.Join(reasons, "; ")
	return problem
}

// routerOptionsOf reads the annotations of an Ingress.
func routerOptionsOf(annotations map[string]string) (*routerOptions, *nativeRouterOptions, findings) {
	options, native := &routerOptions{}, &nativeRouterOptions{}
	var found findings
	found.read(place{prefix, sectionRouter}, annotations, "Services", sectionService, options)
	found.read(place{nativePrefix, sectionRouter}, annotations, "Services", sectionService, native)
	return options, native, found
}

// serviceOptionsOf reads the annotations of a Service.
func serviceOptionsOf(annotations map[string]string) (*serviceOptions, *balancingOptions, findings) {
	options, balancing := &serviceOptions{}, &balancingOptions{}
	var found findings
	found.read(place{prefix, sectionService}, annotations, "Ingresses", sectionRouter, options)
	found.read(place{nativePrefix, sectionService}, annotations, "", "", balancing)
	return options, balancing, found
}

// read decodes the annotations of one place. Those of the other section, if there is one, belong to objects of another
// kind.
func (f *findings) read(at place, annotations map[string]string, kind, other string, into any) {
	node, others := at.collect(annotations)
	for _, key := range others {
		reason := "unknown annotation"
		switch option := strings.TrimPrefix(key, at.prefix); {
		case other != "" && strings.HasPrefix(strings.ToLower(option), other+"."):
			reason = "has an effect on " + kind + " only"
		default:
			if near, ok := document.Nearest(option, known(at.section, into)); ok {
				reason += ", did you mean \"" + at.prefix + near + "\"?"
			}
		}
		f.ignored = append(f.ignored, "annotation "+key+": "+reason)
	}
	if node == nil {
		return
	}
	for _, problem := range document.Decode(node, into) {
		reason := at.annotation(problem.Path) + ": " + problem.Reason
		if unknown(problem) && !protects(problem) {
			f.ignored = append(f.ignored, reason)
		} else {
			f.refused = append(f.refused, reason)
		}
	}
}

// known lists the options of a section as they are written.
func known(section string, of any) []string {
	var names []string
	for _, key := range document.Keys(of) {
		names = append(names, section+"."+strings.ToLower(key))
	}
	return names
}

// protects reports whether an unknown option was to be one that protects something: what cannot be understood there
// must not leave a route open.
func protects(problem document.Problem) bool {
	head, _, nested := strings.Cut(problem.Path, ".")
	if nested {
		return strings.EqualFold(head, "tls")
	}
	_, found := document.Nearest(head, []string{"entryPoints", "middlewares", "tls", "serversTransport"})
	return found
}
