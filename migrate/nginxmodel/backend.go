package nginxmodel

import (
	"cmp"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/sluiceproxy/sluice/nginx/pcre"
	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
)

// backend is a port of a Service.
type backend struct {
	namespace, service string
	// port is as in the Ingress; shown is its number, if that is known.
	port, shown string
	// ready says that it has endpoints.
	ready bool
	// mains and canaries are the Ingresses that lead here.
	mains, canaries []*ingress
	// sticky is the youngest Ingress with an affinity, whose cookie is that of all; nil for none.
	sticky *ingress
	// canary is nil for none; policy is of the Ingress that makes this one a canary.
	canary *backend
	policy *canaryPolicy
}

// canaryPolicy is what of the requests goes to a canary.
type canaryPolicy struct {
	annotation.Canary
	// pattern is nil for none, or for one that matches nothing here.
	pattern *pcre.Regexp
	// broken says that the pattern is none, with which the header keeps requests from the canary.
	broken bool
}

// name returns NAMESPACE/NAME:PORT.
func (b *backend) name() string { return b.namespace + "/" + b.service + ":" + b.shown }

// backendOf returns the port of an Ingress's Service.
func (b *builder) backendOf(of *ingress, service *networkingv1.IngressServiceBackend) *backend {
	port := service.Port.Name
	if service.Port.Number > 0 {
		port = strconv.Itoa(int(service.Port.Number))
	}
	found := b.backend(of.Namespace, service.Name, port)
	if of.options.Backend.ServiceUpstream && b.hasAddress(found) {
		found.ready = true
	}
	if of.options.Canary.Enabled {
		return found
	}
	if last := len(found.mains) - 1; last < 0 || found.mains[last] != of {
		found.mains = append(found.mains, of)
	}
	if of.options.Affinity.Cookie != nil {
		found.sticky = of
	}
	return found
}

// backend returns a port of a Service.
func (b *builder) backend(namespace, service, port string) *backend {
	key := namespace + "/" + service + ":" + port
	if found := b.backends[key]; found != nil {
		return found
	}
	made := &backend{namespace: namespace, service: service, port: port, shown: port}
	made.ready = b.resolve(made)
	b.backends[key] = made
	return made
}

// resolve finds the number of the port, and reports whether the Service has endpoints. Without any Service, or any
// EndpointSlice, in what has been read, they are presumed to be there.
func (b *builder) resolve(of *backend) bool {
	if len(b.objects.Services) == 0 {
		return true
	}
	at, found := b.services[of.namespace+"/"+of.service]
	if !found {
		return false
	}
	service := b.objects.Services[at]
	if service.Spec.Type == corev1.ServiceTypeExternalName {
		return true
	}
	known := false
	for _, port := range service.Spec.Ports {
		number := strconv.Itoa(int(port.Port))
		if of.port == number || of.port == port.Name || of.port == port.TargetPort.String() {
			of.shown, known = number, true
			break
		}
	}
	return known && (len(b.objects.EndpointSlices) == 0 || b.ready[of.namespace+"/"+of.service])
}

// hasAddress reports whether a Service has an address of its own.
func (b *builder) hasAddress(of *backend) bool {
	at, found := b.services[of.namespace+"/"+of.service]
	if !found {
		return len(b.objects.Services) == 0
	}
	address := b.objects.Services[at].Spec.ClusterIP
	return address != "" && address != corev1.ClusterIPNone
}

// standIn returns the Service of the annotation default-backend, if it has endpoints; nil otherwise.
func (b *builder) standIn(of *ingress) *backend {
	name := of.options.Backend.Default
	if name == "" {
		return nil
	}
	if found := b.firstPort(of.Namespace, name); found.ready {
		return found
	}
	return nil
}

// firstPort returns the first port of a Service; 80 where the Service is not known.
func (b *builder) firstPort(namespace, name string) *backend {
	port := "80"
	if at, found := b.services[namespace+"/"+name]; found && len(b.objects.Services[at].Spec.Ports) > 0 {
		port = strconv.Itoa(int(b.objects.Services[at].Spec.Ports[0].Port))
	}
	return b.backend(namespace, name, port)
}

// canaries attaches the Services of canaries to the Services of the same paths: the first one to each.
func (b *builder) canaries() {
	for _, one := range b.model.ingresses {
		if one.rejected != "" || !one.options.Canary.Enabled {
			continue
		}
		if given := one.Spec.DefaultBackend; given != nil && given.Service != nil {
			b.canary(one, b.model.names[catchAll], "/", false, given.Service)
		}
		for _, rule := range one.Spec.Rules {
			if rule.HTTP == nil {
				continue
			}
			at := b.model.names[cmp.Or(rule.Host, catchAll)]
			for i := range rule.HTTP.Paths {
				path := &rule.HTTP.Paths[i]
				if path.Backend.Service != nil {
					exact := path.PathType != nil && *path.PathType == networkingv1.PathTypeExact
					b.canary(one, at, cmp.Or(path.Path, "/"), exact, path.Backend.Service)
				}
			}
		}
	}
}

// canary attaches one Service of a canary. at is nil for a host that only canaries have.
func (b *builder) canary(
	one *ingress, at *server, path string, exact bool, service *networkingv1.IngressServiceBackend,
) {
	host := ""
	if at != nil {
		host = at.name
		for _, main := range at.declared {
			if main.asked == path && main.exact == exact && main.backend != nil && !main.implied {
				b.attach(one, host, main.backend, b.backendOf(one, service))
				return
			}
		}
	}
	b.problem(one, host, "the canary has no effect: no other Ingress has its host with the path "+path)
}

func (b *builder) attach(one *ingress, host string, main, to *backend) {
	switch {
	case main == to || len(to.mains) > 0:
		b.problem(one, host, "the canary has no effect: "+to.name()+" is the Service of another Ingress")
		return
	case main.policy != nil || main.canary != nil && main.canary != to:
		b.problem(one, host, "the canary has no effect: "+main.name()+" has another one")
		return
	}
	to.canaries = append(to.canaries, one)
	main.canary = to
	if to.policy != nil {
		return
	}
	policy := &canaryPolicy{Canary: one.options.Canary}
	if policy.HeaderPattern != "" {
		pattern, err := pcre.Compile(policy.HeaderPattern, 0)
		if err != nil {
			b.problem(one, host, "canary-by-header-pattern is not in the model: "+err.Error())
			policy.broken = pcre.Unsupported(err) == ""
		}
		policy.pattern = pattern
	}
	to.policy = policy
}
