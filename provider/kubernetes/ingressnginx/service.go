package ingressnginx

import (
	"cmp"
	"strconv"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
)

// lead finds the Service that answers, before the steps choose how it is reached.
func (d *locationDraft) lead() {
	d.key, d.reference = serviceKey{}, backend.Reference{}
	namespace, to := d.declared()
	key, given := serviceOf(namespace, to)
	if !given {
		if key, given = d.fallback(); !given {
			return
		}
	}
	d.key = key
	d.reference = d.referenceTo(key)
}

// declared returns the backend that the owner has for the location; nil for none.
func (d *locationDraft) declared() (namespace string, to *networkingv1.IngressBackend) {
	if d.ingress == nil {
		return "", nil
	}
	to, _ = d.location().backend(d.ingress)
	return d.ingress.Namespace, to
}

// backend returns the backend that the owner has for a location; nil for none. It is false where the owner is another
// version of what the plan was made of, which does not have the path any more.
func (l *location) backend(owner *networkingv1.Ingress) (to *networkingv1.IngressBackend, planned bool) {
	if l.Rule < 0 {
		return owner.Spec.DefaultBackend, true
	}
	if l.Rule >= len(owner.Spec.Rules) || owner.Spec.Rules[l.Rule].HTTP == nil {
		return nil, false
	}
	paths := owner.Spec.Rules[l.Rule].HTTP.Paths
	if l.Index >= len(paths) || cmp.Or(paths[l.Index].Path, "/") != l.Path {
		return nil, false
	}
	return &paths[l.Index].Backend, true
}

// fallback returns the first port of the default backend of all hosts; false when there is none.
func (d *locationDraft) fallback() (serviceKey, bool) {
	name, _ := objectName(d.provider.config.DefaultBackendService)
	if name.Name == "" {
		return serviceKey{}, false
	}
	return d.firstPort(name.Namespace, name.Name), true
}

// firstPort returns the first port of a Service, or port 0 where it has none.
func (d *locationDraft) firstPort(namespace, name string) serviceKey {
	d.need(backend.KindService, namespace, name)
	port := "0"
	if service := d.provider.watches.Service(namespace, name); service != nil && len(service.Spec.Ports) > 0 {
		port = strconv.Itoa(int(service.Spec.Ports[0].Port))
	}
	return serviceKey{namespace, name, port}
}

// referenceTo returns a reference to a port of a Service that is reached as without annotations.
func (d *locationDraft) referenceTo(key serviceKey) backend.Reference {
	balancer := &dynamic.ServersLoadBalancer{}
	balancer.SetDefaults()
	balancer.Retry, balancer.ServersTransport = retryOf(&d.provider.defaults.Proxy), d.plainTransport()
	return backend.Reference{
		Namespace: key.Namespace, Name: key.Service, Port: portOf(key), Scheme: "http", Balancer: balancer,
	}
}

// portOf returns the name or the number of a port.
func portOf(key serviceKey) intstr.IntOrString {
	if number, err := strconv.ParseInt(key.Port, 10, 32); err == nil {
		return intstr.FromInt32(int32(number))
	}
	return intstr.FromString(key.Port)
}

// backend makes the service of the reference, or the default response.
func (d *locationDraft) backend() {
	if d.key == (serviceKey{}) {
		d.service = d.notFound()
		return
	}
	d.service = d.serviceOf(d.key, d.reference)
}

// serviceOf declares the service of a reference to a key, and returns its name, which has a hash unless the load
// balancer has defaults alone.
func (d *locationDraft) serviceOf(key serviceKey, reference backend.Reference) string {
	options := backend.Options{
		Source: d.provider.source, AllowExternalNameServices: !d.provider.config.DisableSvcExternalName, NoNodes: true,
	}
	balancer, problem := backend.LoadBalancer(reference, options, &d.provider.watches)
	d.result.Needs = append(d.result.Needs, reference.Needs()...)
	service := &dynamic.Service{LoadBalancer: balancer}
	name := nameOfService(key)
	if plain := d.referenceTo(key); reference.Scheme != plain.Scheme || reference.NativeLB != nil ||
		!dynamic.Equal(reference.Balancer, plain.Balancer) {
		name = hashed(name, []any{reference.Scheme, reference.NativeLB, reference.Balancer})
	}
	ref := dynamic.Ref{Kind: dynamic.KindService, Name: name}
	if d.result.Objects[ref] != nil {
		return name
	}
	d.result.Put(ref, service)
	if problem != nil {
		d.result.Quarantine(ref, problem.Code, problem.Reason, problem.Missing)
		return name
	}
	backend.CheckUndivided(d.result, ref, reference, options, &d.provider.watches, d.provider.divided())
	return name
}
