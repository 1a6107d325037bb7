package crd

import (
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

const (
	kindOfService        = "Service"
	kindOfTraefikService = "TraefikService"
)

// service follows a reference to a service from an object in the namespace from, and returns the name of what answers.
// A reference to a Kubernetes Service declares a load balancer in the result: under the name own, or under the name of
// a child (NAMESPACE-SERVICE-PORT) when own is empty. A TraefikService, or a service of another provider, has its own
// name. A problem is one of the reference itself, and quarantines the object that has it; errors of a declared service
// are reported on that service, and compilation passes them on to the objects that depend on it.
//
// It also serves middlewares of the kinds errors and externalAuth, whose own names are errorServiceName and
// authorizationServiceName.
func (t *translator) service(
	result *translation.Result, from, own string, spec *v1alpha1.LoadBalancerSpec,
) (name string, problem *backend.Problem) {
	switch {
	case spec.Kind != "" && spec.Kind != kindOfService && spec.Kind != kindOfTraefikService:
		return own, &backend.Problem{
			Code:   dynamic.CodeInvalidReference,
			Reason: "services have the kind Service or TraefikService, not " + spec.Kind,
		}
	case spec.Name == "":
		return own, &backend.Problem{Code: dynamic.CodeInvalidReference, Reason: "a reference to a service has no name"}
	case spec.Kind == kindOfTraefikService:
		return t.traefikServiceName(from, spec)
	case strings.Contains(spec.Name, "@"):
		return own, &backend.Problem{
			Code:   dynamic.CodeInvalidReference,
			Reason: "service " + spec.Name + " is another provider's, which needs kind: TraefikService",
		}
	}
	namespace, problem := t.namespace(from, kindOfService, spec.Namespace, spec.Name)
	if name = own; name == "" {
		name = childName(namespace, spec.Name, spec.Port)
	}
	if problem != nil {
		return name, problem
	}
	declared, reference, wrong := t.loadBalancer(result, namespace, spec)
	ref := dynamic.Ref{Kind: dynamic.KindService, Name: name}
	if before, _ := result.Objects[ref].(*dynamic.Service); before != nil {
		if dynamic.Equal(before, declared) {
			return name, nil
		}
		if other := before.LoadBalancer; other != nil && differentServices(other.EndpointSet,
			declared.LoadBalancer.EndpointSet) {
			result.Quarantine(ref, dynamic.CodeConflictingName, "is the name of two different Services, so neither is used",
				false)
			return name, nil
		}
		result.Degrade(ref, dynamic.CodeConflictingName,
			"is referred to twice with different options; the last ones are used for both", false)
	}
	result.Put(ref, declared)
	if wrong != nil {
		result.Quarantine(ref, wrong.Code, wrong.Reason, wrong.Missing)
	} else {
		backend.CheckUndivided(result, ref, reference, t.backendOptions(), t.objects, t.environments)
	}
	return name, nil
}

// differentServices reports whether endpoint sets are those of two Services, or of two ports of one.
func differentServices(one, other string) bool { return one != "" && other != "" && one != other }

// traefikServiceName returns the name of a TraefikService, or of another provider's service.
func (t *translator) traefikServiceName(from string, spec *v1alpha1.LoadBalancerSpec) (string, *backend.Problem) {
	ref := v1alpha1.ObjectRef{Name: spec.Name, Namespace: spec.Namespace}
	name, problem := t.reference(from, kindOfTraefikService, ref, objectName)
	if problem == nil && len(spec.Middlewares) > 0 {
		// They may be what protects it, so they are not left out silently.
		problem = &backend.Problem{
			Code:   dynamic.CodeInvalidOption,
			Reason: "middlewares are for references to a Service, and " + spec.Name + " is a TraefikService",
		}
	}
	return name, problem
}

// loadBalancer translates a reference to a Kubernetes Service. The service is never nil.
func (t *translator) loadBalancer(
	result *translation.Result, namespace string, spec *v1alpha1.LoadBalancerSpec,
) (declared *dynamic.Service, reference backend.Reference, problem *backend.Problem) {
	declared = &dynamic.Service{}
	balancer, problem := t.balancer(namespace, spec)
	reference = backend.Reference{
		Namespace: namespace, Name: spec.Name, Port: spec.Port, Scheme: spec.Scheme,
		NativeLB: spec.NativeLB, NodePortLB: spec.NodePortLB, Balancer: balancer,
	}
	result.Needs = append(result.Needs, reference.Needs()...)
	var unreachable *backend.Problem
	declared.LoadBalancer, unreachable = backend.LoadBalancer(reference, t.backendOptions(), t.objects)
	if problem == nil {
		problem = unreachable
	}
	var denied *backend.Problem
	if declared.Middlewares, denied = t.middlewares(namespace, spec.Middlewares); problem == nil {
		problem = denied
	}
	return declared, reference, problem
}

func (t *translator) backendOptions() backend.Options {
	return backend.Options{
		Source:                    t.source,
		AllowExternalNameServices: t.options.AllowExternalNameServices,
		NativeLBByDefault:         t.options.NativeLBByDefault,
		NoNodes:                   t.options.DisableClusterScopeResources,
	}
}

// balancer translates the options of a load balancer.
func (t *translator) balancer(namespace string, spec *v1alpha1.LoadBalancerSpec) (*dynamic.ServersLoadBalancer,
	*backend.Problem,
) {
	balancer := &dynamic.ServersLoadBalancer{}
	balancer.SetDefaults()
	r := &reader{}
	if spec.Strategy != "" && spec.Strategy != "RoundRobin" {
		balancer.Strategy = spec.Strategy // Whether there is one is found out where it is applied, as for files.
	}
	if spec.PassHostHeader != nil {
		pass := *spec.PassHostHeader
		balancer.PassHostHeader = &pass
	}
	if spec.ResponseForwarding != nil {
		r.duration("responseForwarding.flushInterval", spec.ResponseForwarding.FlushInterval,
			&balancer.ResponseForwarding.FlushInterval)
	}
	balancer.Sticky = stickyOf(spec.Sticky)
	balancer.HealthCheck = r.healthCheck(spec.HealthCheck)
	balancer.PassiveHealthCheck = r.passiveHealthCheck(spec.PassiveHealthCheck)
	r.balancing(&t.values, &spec.Balancing, balancer)
	if spec.ServersTransport != "" {
		ref := v1alpha1.ObjectRef{Name: spec.ServersTransport}
		name, problem := t.reference(namespace, "serversTransport", ref, objectName)
		balancer.ServersTransport = name
		if problem != nil {
			r.failWith(problem)
		}
	}
	return balancer, r.problem
}

// weightOf returns the weight of a service in a list of them.
func weightOf(weight *int) *int {
	one := 1
	if weight != nil {
		one = *weight
	}
	return &one
}
