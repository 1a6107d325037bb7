package crd

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// Routes for TCP and UDP have their services in common: a route with one of them has its load balancer under the name
// of the router, and one with several has a weighted service there, whose children are named ROUTER-SERVICE-PORT. None
// of these names is normalized, as in Traefik. A service with a problem is left out of the weighted one.

// branch is one of the services of a route.
type branch struct {
	reference backend.Reference
	weight    *int
	// service is a *dynamic.TCPService or a *dynamic.UDPService with a load balancer.
	service any
	problem *backend.Problem
	// note is what is odd about a branch that works; empty when nothing is.
	note string
}

// resolve follows the reference of a branch from an object in the namespace from.
func (t *translator) resolve(
	result *translation.Result, from string, protocol corev1.Protocol, one *branch,
) backend.Target {
	reference := &one.reference
	if reference.Name == "" {
		one.problem = &backend.Problem{
			Code: dynamic.CodeInvalidReference, Reason: "a reference to a service has no name",
		}
		return backend.Target{}
	}
	reference.Namespace, one.problem = t.namespace(from, kindOfService, reference.Namespace, reference.Name)
	if one.problem != nil {
		return backend.Target{}
	}
	result.Needs = append(result.Needs, reference.Needs()...)
	var target backend.Target
	target, one.problem = backend.Resolve(*reference, protocol, t.backendOptions(), t.objects)
	one.note = target.Instead
	return target
}

// balancerOf decodes the options of a load balancer that are spelled as in files. Those of the reference itself are
// left out by their names.
func balancerOf[T any](t *translator, spec any, reference ...string) (*T, *backend.Problem) {
	node, err := tree(spec)
	if err != nil {
		return new(T), &backend.Problem{Code: dynamic.CodeInvalidOption, Reason: err.Error()}
	}
	for _, key := range append(reference, "name", "namespace", "port", "weight", "nativeLB", "nodePortLB") {
		take(node, key)
	}
	balancer, reasons := decode[T](&t.values, node)
	if len(reasons) == 0 {
		return balancer, nil
	}
	return balancer, &backend.Problem{Code: dynamic.CodeInvalidOption, Reason: reasons[0]}
}

// balance declares the service of a route, and returns its name. Weighted makes a service of several.
func (t *translator) balance(
	result *translation.Result, ref dynamic.Ref, branches []branch, weighted func([]dynamic.WeightedService) any,
) string {
	switch len(branches) {
	case 0:
		return "" // Compiling finds a router without a service.
	case 1:
		one := &branches[0]
		result.Put(ref, one.service)
		if one.problem != nil {
			result.Quarantine(ref, one.problem.Code, one.problem.Reason, one.problem.Missing)
		} else {
			t.note(result, ref, one)
		}
		return ref.Name
	}
	var services []dynamic.WeightedService
	leads := map[string]translation.Source{} // the Service of each child
	for i := range branches {
		one := &branches[i]
		child := dynamic.Ref{Kind: ref.Kind, Name: ref.Name + "-" + one.reference.Name + "-" + one.reference.Port.String()}
		to := translation.Source{Namespace: one.reference.Namespace, Name: one.reference.Name}
		if before, known := leads[child.Name]; known && before != to && one.problem == nil {
			one.problem = &backend.Problem{
				Code:   dynamic.CodeConflictingName,
				Reason: "its name " + child.Name + " is also that of Service " + before.Namespace + "/" + before.Name,
			}
		}
		if one.problem != nil {
			reason := indexed("services", i) + " is left out: " + one.problem.Reason
			result.Degrade(ref, one.problem.Code, reason, one.problem.Missing)
			continue
		}
		if before := result.Objects[child]; before != nil && !dynamic.Equal(before, one.service) {
			result.Degrade(child, dynamic.CodeConflictingName,
				"is referred to twice with different options; the last ones are used for both", false)
		}
		leads[child.Name] = to
		result.Put(child, one.service)
		t.note(result, child, one)
		services = append(services, dynamic.WeightedService{Name: child.Name, Weight: weightOf(one.weight)})
	}
	result.Put(ref, weighted(services))
	if len(services) == 0 {
		first := branches[0].problem
		result.Quarantine(ref, first.Code, "none of its "+strconv.Itoa(len(branches))+" services can be used", first.Missing)
	}
	return ref.Name
}

// note reports what is odd about a branch that works, and that its Service is divided into environments.
func (t *translator) note(result *translation.Result, ref dynamic.Ref, one *branch) {
	if one.note != "" {
		result.Degrade(ref, dynamic.CodeMissingPort, one.note, true)
	}
	if ref.Kind == dynamic.KindTCPService { // Only TCP ports are divided.
		backend.CheckUndivided(result, ref, one.reference, t.backendOptions(), t.objects, t.environments)
	}
}

// refuse quarantines a router for its problems, of which some may be nil.
func refuse(result *translation.Result, ref dynamic.Ref, problems ...*backend.Problem) {
	for _, problem := range problems {
		if problem != nil {
			result.Quarantine(ref, problem.Code, problem.Reason, problem.Missing)
		}
	}
}

// unfitting returns the problem of a spec that does not fit its type; nil when it does.
func unfitting(misfit string) *backend.Problem {
	if misfit == "" {
		return nil
	}
	return &backend.Problem{Code: dynamic.CodeInvalidSource, Reason: malformed(misfit)}
}

// withoutRoutes reports that an object has no routes.
func withoutRoutes(result *translation.Result, source translation.Source, misfit string) {
	reason := "it has no routes"
	if misfit != "" {
		reason = malformed(misfit)
	}
	result.Quarantine(source.Ref(), dynamic.CodeInvalidSource, reason, false)
}
