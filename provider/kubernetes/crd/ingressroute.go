package crd

import (
	"slices"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// ingressRoute translates an IngressRoute: one router for each rule, with what answers it. What is wrong with a route
// costs that route alone.
func (t *translator) ingressRoute(
	result *translation.Result, source translation.Source, object *v1alpha1.IngressRoute,
) {
	if excess := backend.Excess(len(object.Spec.Routes), namesInCommon(&object.Spec)); excess != nil {
		result.Quarantine(source.Ref(), excess.Code, excess.Reason, false)
		return
	}
	common := t.common(result, source.Namespace, &object.Spec)
	matches := make([]string, len(object.Spec.Routes))
	for i := range object.Spec.Routes {
		matches[i] = object.Spec.Routes[i].Match
	}
	next := nextWithSame(matches)
	names := t.routerNames(source, object, next)
	for i := range object.Spec.Routes {
		route := &object.Spec.Routes[i]
		name := names[i]
		ref := dynamic.Ref{Kind: dynamic.KindRouter, Name: name}
		if next[i] > 0 {
			sameMatch(result, ref, i, next[i])
			continue
		}
		result.Put(ref, t.route(result, name, source.Namespace, common, route))
		if common.degraded != nil {
			result.Degrade(ref, common.degraded.Code, common.degraded.Reason, common.degraded.Missing)
		}
	}
	if len(object.Spec.Routes) == 0 {
		withoutRoutes(result, source, object.Spec.Malformed)
	}
}

// common is what all routes of an IngressRoute share.
type common struct {
	entryPoints, parents []string
	tls                  *dynamic.RouterTLS
	problems             []*backend.Problem
	// degraded is what is wrong with the certificate, without which the routes work; nil when nothing is.
	degraded *backend.Problem
}

// common translates what all routes of an IngressRoute share.
func (t *translator) common(result *translation.Result, namespace string, spec *v1alpha1.IngressRouteSpec) *common {
	all := &common{entryPoints: slices.Clone(spec.EntryPoints)}
	if spec.TLS != nil {
		all.degraded = t.certificate(result, namespace, spec.TLS.SecretName)
	}
	var problem *backend.Problem
	all.tls, problem = t.routerTLS(namespace, spec.TLS)
	all.problems = append(all.problems, problem)
	for _, parent := range spec.ParentRefs {
		reference, problem := t.reference(namespace, "parent IngressRoute", parent, objectName)
		all.parents = append(all.parents, reference)
		all.problems = append(all.problems, problem)
	}
	all.problems = append(all.problems, unfitting(spec.Malformed))
	all.problems = slices.DeleteFunc(all.problems, func(p *backend.Problem) bool { return p == nil })
	return all
}

// namesInCommon counts what every route of an IngressRoute repeats.
func namesInCommon(spec *v1alpha1.IngressRouteSpec) int {
	names := len(spec.EntryPoints) + len(spec.ParentRefs)
	if spec.TLS != nil {
		for _, domain := range spec.TLS.Domains {
			names += 1 + len(domain.SANs)
		}
	}
	return names
}

// nextWithSame returns for each rule of an object's routes the index of the next one that is the same, 0 when there is
// none. Both routes would have the same name, and the last one counts, as in Traefik.
func nextWithSame(matches []string) []int {
	next, seen := make([]int, len(matches)), make(map[string]int, len(matches))
	for i := len(matches) - 1; i >= 0; i-- {
		next[i] = seen[matches[i]]
		seen[matches[i]] = i
	}
	return next
}

// malformed is the reason for what belongs to a spec that does not fit its type.
func malformed(what string) string { return "the spec does not have the form of its kind: " + what }

// route translates one route.
func (t *translator) route(
	result *translation.Result, name, namespace string, common *common, route *v1alpha1.Route,
) *dynamic.Router {
	router := &dynamic.Router{
		EntryPoints: common.entryPoints, ParentRefs: common.parents, TLS: common.tls,
		Rule: route.Match, RuleSyntax: syntaxOf(route.Syntax), Priority: route.Priority,
		PriorityClass: route.PriorityClass,
	}
	problems := []*backend.Problem{wrongKind(route)}
	var problem *backend.Problem
	router.Middlewares, problem = t.middlewares(namespace, route.Middlewares)
	problems = append(problems, problem)
	router.Service, problem = t.answer(result, namespace, name, route.Services)
	problems = append(problems, problem)
	if given := route.Observability; given != nil {
		router.Observability = &dynamic.RouterObservability{
			AccessLogs: given.AccessLogs, Metrics: given.Metrics, Tracing: given.Tracing, TraceVerbosity: given.TraceVerbosity,
		}
	}
	for _, problem := range append(problems, common.problems...) {
		if problem != nil {
			result.Quarantine(dynamic.Ref{Kind: dynamic.KindRouter, Name: name}, problem.Code, problem.Reason, problem.Missing)
		}
	}
	return router
}

// syntaxOf returns the syntax of a rule; default is what manifests call that of v3.
func syntaxOf(given string) string {
	if given == "default" {
		return ""
	}
	return given
}

func wrongKind(route *v1alpha1.Route) *backend.Problem {
	if route.Kind != "" && route.Kind != "Rule" {
		return &backend.Problem{Code: dynamic.CodeInvalidOption, Reason: "routes have the kind Rule, not " + route.Kind}
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
	result.Put(dynamic.Ref{Kind: dynamic.KindService, Name: router},
		&dynamic.Service{Weighted: t.weighted(result, router, namespace, weighted)})
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

// certificate declares the certificate of routes in a Secret; an empty name means none. With a problem the routes go
// on, with the default certificate.
func (t *translator) certificate(result *translation.Result, namespace, secret string) *backend.Problem {
	if secret == "" {
		return nil
	}
	result.AddNeed(backend.KindSecret, namespace, secret)
	entry, problem := t.pairs.Certificate(namespace, secret, t.objects)
	if problem == nil {
		result.PutCertificate(entry)
		return nil
	}
	return &backend.Problem{
		Code: problem.Code, Missing: problem.Missing,
		Reason: problem.Reason + "; the default certificate is served instead",
	}
}
