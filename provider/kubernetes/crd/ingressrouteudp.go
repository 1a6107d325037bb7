package crd

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// ingressRouteUDP translates an IngressRouteUDP: one router for each route, named NAMESPACE-NAME-INDEX, with the
// services behind it.
func (t *translator) ingressRouteUDP(
	result *translation.Result, source translation.Source, object *v1alpha1.IngressRouteUDP,
) {
	spec := &object.Spec
	if excess := backend.Excess(len(spec.Routes), len(spec.EntryPoints)); excess != nil {
		result.Quarantine(source.Ref(), excess.Code, excess.Reason, false)
		return
	}
	if len(spec.Routes) == 0 {
		withoutRoutes(result, source, spec.Malformed)
		return
	}
	for i := range spec.Routes {
		ref := dynamic.Ref{
			Kind: dynamic.KindUDPRouter, Name: source.Namespace + "-" + source.Name + "-" + strconv.Itoa(i),
		}
		router := &dynamic.UDPRouter{EntryPoints: slices.Clone(spec.EntryPoints)}
		router.Service = t.servicesUDP(result, source.Namespace, ref.Name, spec.Routes[i].Services)
		result.Put(ref, router)
		refuse(result, ref, unfitting(spec.Malformed))
	}
}

// servicesUDP declares the service of a router, and returns its name.
func (t *translator) servicesUDP(
	result *translation.Result, namespace, router string, services []v1alpha1.ServiceUDP,
) string {
	branches := make([]branch, len(services))
	for i := range services {
		t.branchUDP(result, namespace, &services[i], &branches[i])
	}
	ref := dynamic.Ref{Kind: dynamic.KindUDPService, Name: router}
	return t.balance(result, ref, branches, func(services []dynamic.WeightedService) any {
		return &dynamic.UDPService{Weighted: &dynamic.UDPWeightedRoundRobin{Services: services}}
	})
}

// branchUDP translates one service of a route.
func (t *translator) branchUDP(
	result *translation.Result, from string, spec *v1alpha1.ServiceUDP, into *branch,
) {
	balancer, wrong := balancerOf[dynamic.UDPServersLoadBalancer](t, spec)
	into.weight, into.service = spec.Weight, &dynamic.UDPService{LoadBalancer: balancer}
	into.reference = backend.Reference{
		Namespace: spec.Namespace, Name: spec.Name, Port: spec.Port, NativeLB: spec.NativeLB, NodePortLB: spec.NodePortLB,
	}
	target := t.resolve(result, from, corev1.ProtocolUDP, into)
	balancer.EndpointSet = target.EndpointSet
	for _, address := range target.Addresses {
		server := dynamic.UDPServer{Address: address}
		server.SetDefaults()
		balancer.Servers = append(balancer.Servers, server)
	}
	if into.problem == nil {
		into.problem = wrong
	}
}
