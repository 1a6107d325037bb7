package crd

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// ingressRouteTCP translates an IngressRouteTCP: one router for each rule, with the services behind it.
func (t *translator) ingressRouteTCP(
	result *translation.Result, source translation.Source, object *v1alpha1.IngressRouteTCP,
) {
	spec := &object.Spec
	if excess := backend.Excess(len(spec.Routes), namesInCommonTCP(spec)); excess != nil {
		result.Quarantine(source.Ref(), excess.Code, excess.Reason, false)
		return
	}
	if len(spec.Routes) == 0 {
		withoutRoutes(result, source, spec.Malformed)
		return
	}
	var certificate *backend.Problem
	if spec.TLS != nil && !spec.TLS.Passthrough {
		certificate = t.certificate(result, source.Namespace, spec.TLS.SecretName)
	}
	tls, problem := t.routerTLSTCP(source.Namespace, spec.TLS)
	matches := make([]string, len(spec.Routes))
	for i := range spec.Routes {
		matches[i] = spec.Routes[i].Match
	}
	next := nextWithSame(matches)
	names := t.routerNamesTCP(source, object, next)
	for i := range spec.Routes {
		route := &spec.Routes[i]
		ref := dynamic.Ref{Kind: dynamic.KindTCPRouter, Name: names[i]}
		if next[i] > 0 {
			sameMatch(result, ref, i, next[i])
			continue
		}
		router := &dynamic.TCPRouter{
			EntryPoints: slices.Clone(spec.EntryPoints), TLS: tls,
			Rule: route.Match, RuleSyntax: syntaxOf(route.Syntax), Priority: route.Priority,
		}
		var denied *backend.Problem
		router.Middlewares, denied = t.middlewares(source.Namespace, route.Middlewares)
		router.Service = t.servicesTCP(result, source.Namespace, ref.Name, route.Services)
		result.Put(ref, router)
		refuse(result, ref, denied, problem, unfitting(spec.Malformed))
		if certificate != nil {
			result.Degrade(ref, certificate.Code, certificate.Reason, certificate.Missing)
		}
	}
}

// sameMatch reports that a route has the same rule as a later one.
func sameMatch(result *translation.Result, ref dynamic.Ref, route, next int) {
	result.Degrade(ref, dynamic.CodeConflictingName, "routes["+strconv.Itoa(route)+"] and routes["+strconv.Itoa(next)+
		"] have the same match; only the last one is used", false)
}

// namesInCommonTCP counts what every route of an IngressRouteTCP repeats.
func namesInCommonTCP(spec *v1alpha1.IngressRouteTCPSpec) int {
	names := len(spec.EntryPoints)
	if spec.TLS != nil {
		for _, domain := range spec.TLS.Domains {
			names += 1 + len(domain.SANs)
		}
	}
	return names
}

// routerNameTCP returns the name of the TCP router of a rule: that of an HTTP router, without being normalized.
func routerNameTCP(namespace, name, rule string) string {
	sum := sha256.Sum256([]byte(rule))
	return namespace + "-" + name + "-" + hex.EncodeToString(sum[:10])
}

// routerTLSTCP translates the TLS part of an IngressRouteTCP, without its certificate.
func (t *translator) routerTLSTCP(namespace string, spec *v1alpha1.TLSTCP) (*dynamic.TCPRouterTLS, *backend.Problem) {
	if spec == nil {
		return nil, nil
	}
	common, problem := t.routerTLS(namespace, &v1alpha1.TLS{
		Options: spec.Options, CertResolver: spec.CertResolver, Domains: spec.Domains,
	})
	return &dynamic.TCPRouterTLS{
		Passthrough: spec.Passthrough, Options: common.Options, CertResolver: common.CertResolver, Domains: common.Domains,
	}, problem
}

// servicesTCP declares the service of a router, and returns its name.
func (t *translator) servicesTCP(
	result *translation.Result, namespace, router string, services []v1alpha1.ServiceTCP,
) string {
	branches := make([]branch, len(services))
	for i := range services {
		t.branchTCP(result, namespace, &services[i], &branches[i])
	}
	ref := dynamic.Ref{Kind: dynamic.KindTCPService, Name: router}
	return t.balance(result, ref, branches, func(services []dynamic.WeightedService) any {
		return &dynamic.TCPService{Weighted: &dynamic.TCPWeightedRoundRobin{Services: services}}
	})
}

// branchTCP translates one service of a route.
func (t *translator) branchTCP(
	result *translation.Result, from string, spec *v1alpha1.ServiceTCP, into *branch,
) {
	balancer, wrong := balancerOf[dynamic.TCPServersLoadBalancer](t, spec, "tls", "serversTransport")
	into.weight, into.service = spec.Weight, &dynamic.TCPService{LoadBalancer: balancer}
	into.reference = backend.Reference{
		Namespace: spec.Namespace, Name: spec.Name, Port: spec.Port, NativeLB: spec.NativeLB, NodePortLB: spec.NodePortLB,
	}
	target := t.resolve(result, from, corev1.ProtocolTCP, into)
	if target.EndpointSet != "" {
		balancer.EndpointSet, balancer.TLS = target.EndpointSet, spec.TLS
	}
	for _, address := range target.Addresses {
		server := dynamic.TCPServer{Address: address, TLS: spec.TLS}
		server.SetDefaults()
		balancer.Servers = append(balancer.Servers, server)
	}
	if into.problem == nil {
		into.problem = wrong
	}
	if spec.ServersTransport == "" {
		return
	}
	var denied *backend.Problem
	balancer.ServersTransport, denied = t.reference(from, "serversTransport",
		v1alpha1.ObjectRef{Name: spec.ServersTransport}, objectName)
	if into.problem == nil {
		into.problem = denied
	}
}
