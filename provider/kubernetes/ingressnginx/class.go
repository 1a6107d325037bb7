package ingressnginx

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
	"github.com/sluiceproxy/sluice/static"
)

const (
	// classAnnotation names the class of an Ingress without spec.ingressClassName.
	classAnnotation = "kubernetes.io/ingress.class"
	// kindClass is the kind of IngressClasses, as a source.
	kindClass = "IngressClass"
	// kindNamespace is the kind of Namespaces, as a source.
	kindNamespace = "Namespace"
)

// Selector decides which Ingresses are read. It is not changed once it is in use.
type Selector struct {
	// Class is the value of the annotation kubernetes.io/ingress.class, and with ByName the name of an IngressClass
	// whose controller may be any.
	Class  string
	ByName bool
	// Controller is that of the IngressClasses that count.
	Controller string
	// WithoutClass includes Ingresses that name no class.
	WithoutClass bool
	// DisableCatchAll leaves out Ingresses with spec.defaultBackend.
	DisableCatchAll bool
	// Lookup finds IngressClasses by name; it returns nil when there is none. Without Lookup they are not to be read,
	// and spec.ingressClassName counts as absent.
	Lookup func(name string) *networkingv1.IngressClass
	// Namespaces are those of which Ingresses are read; none means all.
	Namespaces []string
	// Labels select the namespaces of which Ingresses are read; nil selects all. Namespace finds them; it returns nil for
	// one that is not there, of which nothing is read.
	Labels    labels.Selector
	Namespace func(name string) *corev1.Namespace
}

// NewSelector returns the selector of a configuration.
func NewSelector(config *static.KubernetesNGINX, lookup func(name string) *networkingv1.IngressClass) *Selector {
	return &Selector{
		Class: config.IngressClass, ByName: config.IngressClassByName, Controller: config.ControllerClass,
		WithoutClass: config.WatchIngressWithoutClass, DisableCatchAll: config.DisableCatchAll, Lookup: lookup,
		Namespaces: watchedNamespaces(*config),
	}
}

// Claims reports whether an Ingress is read, and on which objects that depends.
func (s *Selector) Claims(ingress *networkingv1.Ingress) (ours bool, needs []translation.Source) {
	watched, wanted := s.watches(ingress.Namespace)
	if !watched {
		return false, wanted
	}
	ours, needs = s.selects(ingress)
	return ours && (!s.DisableCatchAll || ingress.Spec.DefaultBackend == nil), append(needs, wanted...)
}

// ByNamespace reports whether the labels of namespaces decide about Ingresses.
func (s *Selector) ByNamespace() bool { return s.Labels != nil }

// watches decides by the namespace alone.
func (s *Selector) watches(namespace string) (watched bool, needs []translation.Source) {
	if len(s.Namespaces) > 0 && !slices.Contains(s.Namespaces, namespace) {
		return false, nil
	}
	if s.Labels == nil {
		return true, nil
	}
	found := s.Namespace(namespace)
	return found != nil && s.Labels.Matches(labels.Set(found.Labels)),
		[]translation.Source{{Kind: kindNamespace, Name: namespace}}
}

// Excludes reports whether other providers of Ingresses must not read an Ingress: it is of the class, also where
// DisableCatchAll leaves it out. They would serve it without what its annotations protect.
func (s *Selector) Excludes(ingress *networkingv1.Ingress) bool {
	watched, _ := s.watches(ingress.Namespace)
	if !watched {
		return false
	}
	ours, _ := s.selects(ingress)
	return ours
}

// selects decides by the class alone. An annotation that is empty names a class: none of ours.
func (s *Selector) selects(ingress *networkingv1.Ingress) (ours bool, needs []translation.Source) {
	if name := ingress.Spec.IngressClassName; name != nil && s.Lookup != nil {
		found := s.Lookup(*name)
		ours := found != nil && (found.Spec.Controller == s.Controller || s.ByName && *name == s.Class)
		return ours, []translation.Source{{Kind: kindClass, Name: *name}}
	}
	if class, given := ingress.Annotations[classAnnotation]; given {
		return class == s.Class, nil
	}
	return s.WithoutClass, nil
}
