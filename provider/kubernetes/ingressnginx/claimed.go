package ingressnginx

import (
	"iter"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// Claimed returns the Ingresses of this provider, in no particular order and whatever the verdicts on them are: those
// whose load-balancer status may be written. It may be called from any goroutine; the Ingresses are shared and must not
// be changed.
func (p *Provider) Claimed() iter.Seq[*networkingv1.Ingress] {
	return func(yield func(*networkingv1.Ingress) bool) {
		for ingress := range p.watches.ingresses.All() {
			if ours, _ := p.selector.Claims(ingress); ours && !yield(ingress) {
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
	p.watches.classes.Notify(func(_, _ *networkingv1.IngressClass) { changed() })
	if p.watches.namespaces != nil {
		p.watches.namespaces.Notify(func(_, _ *corev1.Namespace) { changed() })
	}
}
