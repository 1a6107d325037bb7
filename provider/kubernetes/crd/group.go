package crd

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// translate translates a source; it is false when it is not there, or of a class that is not ours.
func (p *Provider) translate(source translation.Source) (translation.Result, bool) {
	watched, known := p.kinds[source.Kind]
	if !known {
		return translation.Result{}, false
	}
	object := watched.get(source.Namespace, source.Name)
	if object == nil || !p.translator.ours(object) {
		return translation.Result{}, false
	}
	if group := p.shadow(source); group != "" {
		result := p.translator.begin(source, object)
		result.Degrade(sourceRef(source), "the object of the same kind and name in the group "+group+" is used instead", false)
		return result, true
	}
	return p.translator.translate(source, object), true
}

// shadow returns the group whose object of the same kind, namespace and name comes before this one; empty when none
// does.
func (p *Provider) shadow(source translation.Source) string {
	kind, own := splitKind(source.Kind)
	for _, group := range v1alpha1.Groups() {
		if group == own {
			return ""
		}
		watched, known := p.kinds[kindOf(kind, group)]
		if !known {
			continue
		}
		if object := watched.get(source.Namespace, source.Name); object != nil && p.translator.ours(object) {
			return group
		}
	}
	return ""
}

// touchShadowed touches the objects that come after one of the same kind, namespace and name.
func (p *Provider) touchShadowed(kind, group, namespace, name string) {
	groups := v1alpha1.Groups()
	for _, other := range groups[slices.Index(groups, group)+1:] {
		watched, known := p.kinds[kindOf(kind, other)]
		if known && watched.get(namespace, name) != nil {
			p.memory.Touch(translation.Source{Kind: kindOf(kind, other), Namespace: namespace, Name: name})
		}
	}
}

// ours tells whether an object's class is the one that the option ingressClass names. Without the option, objects
// without a class are ours, and those of the classes traefik and sluice. Only routes have a class.
func (t *translator) ours(object metav1.Object) bool {
	var named *string
	switch routes := object.(type) {
	case *v1alpha1.IngressRoute:
		named = routes.Spec.IngressClassName
	case *v1alpha1.IngressRouteTCP:
		named = routes.Spec.IngressClassName
	case *v1alpha1.IngressRouteUDP:
		named = routes.Spec.IngressClassName
	default:
		return true
	}
	class := object.GetAnnotations()[classAnnotation]
	if named != nil {
		class = *named
	}
	if t.options.IngressClass != "" {
		return class == t.options.IngressClass
	}
	return class == "" || class == "traefik" || class == "sluice"
}
