package crd

import (
	"slices"
	"strconv"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// ingressRoute translates an IngressRoute: one router for each rule, with what answers it. What is wrong with a route
// costs that route alone.
func (t *translator) ingressRoute(source translation.Source, object *v1alpha1.IngressRoute) translation.Result {
	result := t.begin(source, object)
	result.Routers = make(map[string]*dynamic.Router, len(object.Spec.Routes))
	certificate := t.certificate(&result, source.Namespace, object.Spec.TLS)
	for i := range object.Spec.Routes {
		route := &object.Spec.Routes[i]
		name := routerName(source.Namespace, source.Name, route.Match)
		if t.repeated(&result, name, object.Spec.Routes, i) {
			continue
		}
		result.Routers[name] = t.route(&result, name, source.Namespace, object, route)
		ref := dynamic.Ref{Kind: dynamic.KindRouter, Name: name}
		if certificate != nil {
			result.Degrade(ref, certificate.Reason+"; the default certificate is served instead", certificate.Missing)
		}
		if object.Spec.Malformed != "" {
			result.Quarantine(ref, malformed(object.Spec.Malformed), false)
		}
	}
	if len(result.Routers) == 0 {
		t.routeless(&result, source, object)
	}
	return result
}

// malformed is the reason for what belongs to a spec that does not fit its type.
func malformed(what string) string { return "the spec does not have the form of its kind: " + what }

// routeless says why an object declares nothing.
func (t *translator) routeless(result *translation.Result, source translation.Source, object *v1alpha1.IngressRoute) {
	reason := "it has no routes"
	if object.Spec.Malformed != "" {
		reason = malformed(object.Spec.Malformed)
	}
	result.Quarantine(sourceRef(source), reason, false)
}

// sourceRef is the reference of a finding on an object that declares nothing.
func sourceRef(source translation.Source) dynamic.Ref {
	return dynamic.Ref{Kind: dynamic.KindSource, Name: source.String()}
}

// repeated tells whether a later route has the same rule. Both would have the same name, and the last one counts, as in
// Traefik.
func (t *translator) repeated(result *translation.Result, name string, routes []v1alpha1.Route, at int) bool {
	same := func(route v1alpha1.Route) bool { return route.Match == routes[at].Match }
	later := slices.IndexFunc(routes[at+1:], same)
	if later < 0 {
		return false
	}
	result.Degrade(
		dynamic.Ref{Kind: dynamic.KindRouter, Name: name},
		"routes["+strconv.Itoa(at)+"] and routes["+strconv.Itoa(at+1+later)+"] have the same match; only the last one is used",
		false,
	)
	return true
}

// route translates one route.
func (t *translator) route(
	result *translation.Result, name, namespace string, object *v1alpha1.IngressRoute, route *v1alpha1.Route,
) *dynamic.Router {
	router := &dynamic.Router{
		EntryPoints: slices.Clone(object.Spec.EntryPoints),
		Rule:        route.Match,
		RuleSyntax:  route.Syntax,
		Priority:    route.Priority,
	}
	problems := []*backend.Problem{wrongKind(route)}
	var problem *backend.Problem
	router.Middlewares, problem = t.middlewares(namespace, route.Middlewares)
	problems = append(problems, problem)
	router.Service, problem = t.answer(result, namespace, name, route.Services)
	problems = append(problems, problem)
	if router.TLS, problem = t.routerTLS(namespace, object.Spec.TLS); problem != nil {
		problems = append(problems, problem)
	}
	for _, parent := range object.Spec.ParentRefs {
		reference, problem := t.reference(namespace, "parent IngressRoute", parent, objectName)
		router.ParentRefs = append(router.ParentRefs, reference)
		problems = append(problems, problem)
	}
	if given := route.Observability; given != nil {
		router.Observability = &dynamic.RouterObservability{
			AccessLogs: given.AccessLogs, Metrics: given.Metrics, Tracing: given.Tracing, TraceVerbosity: given.TraceVerbosity,
		}
	}
	for _, problem := range problems {
		if problem != nil {
			result.Quarantine(dynamic.Ref{Kind: dynamic.KindRouter, Name: name}, problem.Reason, problem.Missing)
		}
	}
	return router
}

func wrongKind(route *v1alpha1.Route) *backend.Problem {
	if route.Kind != "" && route.Kind != "Rule" {
		return &backend.Problem{Reason: "routes have the kind Rule, not " + route.Kind}
	}
	return nil
}

// answer returns the name of the service of a route: that of its only service, or of one that balances over several.
func (t *translator) answer(
	result *translation.Result, namespace, router string, services []v1alpha1.Service,
) (string, *backend.Problem) {
	switch len(services) {
	case 0:
		return "", nil // Compiling finds a router without a service.
	case 1:
		return t.service(result, namespace, router, &services[0].LoadBalancerSpec)
	}
	weighted := &v1alpha1.WeightedRoundRobin{Services: services}
	t.declare(result, router, &dynamic.Service{Weighted: t.weighted(result, router, namespace, weighted)})
	return router, nil
}

// routerTLS translates the TLS part of an IngressRoute, without its certificate.
func (t *translator) routerTLS(namespace string, spec *v1alpha1.TLS) (*dynamic.RouterTLS, *backend.Problem) {
	if spec == nil {
		return nil, nil
	}
	out := &dynamic.RouterTLS{CertResolver: spec.CertResolver}
	for _, domain := range spec.Domains {
		out.Domains = append(out.Domains, dynamic.Domain{Main: domain.Main, SANs: slices.Clone(domain.SANs)})
	}
	if spec.Options == nil || spec.Options.Name == "" {
		return out, nil
	}
	var problem *backend.Problem
	out.Options, problem = t.reference(namespace, "TLSOption", *spec.Options, tlsName)
	return out, problem
}

// certificate declares the certificate of an IngressRoute. Without it the routes go on, with the default certificate.
func (t *translator) certificate(result *translation.Result, namespace string, spec *v1alpha1.TLS) *backend.Problem {
	if spec == nil || spec.SecretName == "" {
		return nil
	}
	result.AddNeed(backend.KindSecret, namespace, spec.SecretName)
	entry, problem := backend.Certificate(namespace, spec.SecretName, t.objects)
	if problem == nil {
		result.Certificates = append(result.Certificates, entry)
	}
	return problem
}
