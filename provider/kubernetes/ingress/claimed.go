package ingress

import (
	"iter"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
)

// Exists reports whether the cluster has an Ingress, with its uid, that this provider translates. It may be called from
// any goroutine.
func (p *Provider) Exists(resource *dynamic.Resource) bool {
	if resource.Kind != kindIngress || resource.APIVersion != networkingv1.SchemeGroupVersion.String() {
		return false
	}
	ingress, found := p.watches.ingresses.Get(resource.Namespace, resource.Name)
	if !found || string(ingress.UID) != resource.UID {
		return false
	}
	ours, _ := p.selector.claims(ingress)
	return ours
}

// Claimed returns the Ingresses that belong to this provider by their class, in no particular order and whatever the
// verdicts on them are: those whose load-balancer status is to be written. It may be called from any goroutine; the
// Ingresses are shared and must not be changed.
func (p *Provider) Claimed() iter.Seq[*networkingv1.Ingress] {
	return func(yield func(*networkingv1.Ingress) bool) {
		for ingress := range p.watches.ingresses.All() {
			if ours, _ := p.selector.claims(ingress); ours && !yield(ingress) {
				return
			}
		}
	}
}

// OnClaimed has the function called when the result of Claimed may have changed: an Ingress, an IngressClass or a
// Namespace that counts appeared, changed or went, and once for each that is there already. It is called on goroutines
// of the watches and must return at once.
func (p *Provider) OnClaimed(changed func()) {
	p.watches.ingresses.Notify(func(_, _ *networkingv1.Ingress) { changed() })
	for _, classes := range []client.Watcher[*networkingv1.IngressClass]{p.watches.classes, p.watches.excluding} {
		if classes != nil {
			classes.Notify(func(_, _ *networkingv1.IngressClass) { changed() })
		}
	}
	if p.watches.namespaces != nil {
		p.watches.namespaces.Notify(func(_, _ *corev1.Namespace) { changed() })
	}
}
