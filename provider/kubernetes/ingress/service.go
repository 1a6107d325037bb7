package ingress

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
)

// addService translates the Service of a backend, once for each port, and returns the name of the result: the given
// one, or that of the Service and its port.
func (d *draft) addService(to *networkingv1.IngressServiceBackend, name string) string {
	written, port := portOf(to.Port)
	if name == "" {
		name = serviceName(d.ingress.Namespace, to.Name, written)
	}
	ref := dynamic.Ref{Kind: dynamic.KindService, Name: name}
	if d.result.Objects[ref] != nil {
		if d.backends[name] != *to {
			d.result.Quarantine(ref, dynamic.CodeConflictingName,
				"is the name of two different Services, so neither is used", false)
		}
		return name
	}
	if d.backends == nil {
		d.backends = map[string]networkingv1.IngressServiceBackend{}
	}
	d.backends[name] = *to
	reference := backend.Reference{Namespace: d.ingress.Namespace, Name: to.Name, Port: port}
	service := &dynamic.Service{}
	d.result.Put(ref, service)
	refused := d.annotate(ref, service, &reference)
	options := backend.Options{
		Source:                    d.provider.source,
		AllowExternalNameServices: d.provider.config.AllowExternalNameServices,
		NativeLBByDefault:         d.provider.config.NativeLBByDefault,
		NoNodes:                   d.provider.watches.nodes == nil,
	}
	balancer, problem := backend.LoadBalancer(reference, options, &d.provider.watches)
	service.LoadBalancer = balancer
	d.result.Needs = append(d.result.Needs, reference.Needs()...)
	switch {
	case problem != nil:
		d.result.Quarantine(ref, problem.Code, problem.Reason, problem.Missing)
	case refused != nil:
		d.result.Quarantine(ref, refused.Code, refused.Reason, false)
	default:
		backend.CheckUndivided(&d.result, ref, reference, options, &d.provider.watches, d.provider.environments)
	}
	return name
}

// portOf returns a port as it is written, by its name or else its number.
func portOf(to networkingv1.ServiceBackendPort) (written string, port intstr.IntOrString) {
	if to.Name != "" {
		return to.Name, intstr.FromString(to.Name)
	}
	return strconv.Itoa(int(to.Number)), intstr.FromInt32(to.Number)
}

// annotate applies the annotations of the Service to the service and the reference. It returns why the service may not
// be used; nil when it may.
func (d *draft) annotate(
	ref dynamic.Ref, service *dynamic.Service, reference *backend.Reference,
) (refused *backend.Problem) {
	object := d.provider.watches.Service(reference.Namespace, reference.Name)
	if object == nil {
		return nil
	}
	options, balancing, found := serviceOptionsOf(object.Annotations)
	where := "Service " + reference.Namespace + "/" + reference.Name + ": "
	for _, reason := range found.ignored {
		d.result.Degrade(ref, dynamic.CodeIneffectiveOption, where+reason, false)
	}
	references := append([]string{options.ServersTransport}, options.Middlewares...)
	balancer := &dynamic.ServersLoadBalancer{}
	balancer.SetDefaults()
	balancing.apply(balancer)
	balancer.Sticky, balancer.ServersTransport = options.Sticky, options.ServersTransport
	if options.PassHostHeader != nil {
		balancer.PassHostHeader = options.PassHostHeader
	}
	service.Middlewares = options.Middlewares
	reference.Balancer, reference.Scheme = balancer, options.ServersScheme
	reference.NativeLB, reference.NodePortLB = options.NativeLB, options.NodePortLB
	if options.NodePortLB && object.Spec.Type == corev1.ServiceTypeNodePort {
		// For Ingresses, unlike custom resources, it comes before nativeLB in Traefik, whose default may be the provider's.
		native := false
		reference.NativeLB = &native
	}
	return found.problem(where, d.provider.crossing(reference.Namespace, references))
}
