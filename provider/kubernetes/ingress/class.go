package ingress

import (
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
)

const (
	// classAnnotation names the class of an Ingress without spec.ingressClassName.
	classAnnotation = "kubernetes.io/ingress.class"
	// defaultAnnotation makes an IngressClass that of the Ingresses that name none.
	defaultAnnotation = networkingv1.AnnotationIsDefaultIngressClass
)

// ownClasses returns the names of classes that are ours without an IngressClass.
func ownClasses() []string { return []string{"traefik", "sluice"} }

// ownControllers returns the controllers of the IngressClasses that are ours.
func ownControllers() []string {
	return []string{"traefik.io/ingress-controller", "sluice.dev/ingress-controller"}
}

// classOf returns the IngressClass of a name; nil when there is none.
type classOf func(name string) *networkingv1.IngressClass

// selector decides which Ingresses are ours.
type selector struct {
	// class is the option ingressClass.
	class string
	// lookup finds IngressClasses; nil when they are not to be read.
	lookup classOf
	// excludes reports whether another provider reads an Ingress, by its IngressClass and its Namespace; nil excludes
	// none.
	excludes func(*networkingv1.Ingress) bool
}

// claims reports whether an Ingress is ours, and the IngressClass on which that depends, if any. No Ingress is read by
// two providers.
func (s *selector) claims(ingress *networkingv1.Ingress) (ours bool, needs string) {
	ours, needs = s.selects(ingress)
	if s.excludes == nil {
		return ours, needs
	}
	if name := ingress.Spec.IngressClassName; name != nil {
		needs = *name
	}
	return ours && !s.excludes(ingress), needs
}

// selects decides without regard to other providers.
func (s *selector) selects(ingress *networkingv1.Ingress) (ours bool, needs string) {
	if name := ingress.Spec.IngressClassName; name != nil {
		return s.named(*name)
	}
	class, given := ingress.Annotations[classAnnotation]
	switch {
	case s.class == "":
		return class == "" || slices.Contains(ownClasses(), class), ""
	case given && class != "":
		return class == s.class, ""
	case s.lookup == nil:
		return false, ""
	}
	found := s.lookup(s.class)
	return isOurs(found) && found.Annotations[defaultAnnotation] == "true", s.class
}

// named decides by the name of a class.
func (s *selector) named(name string) (ours bool, needs string) {
	switch {
	case s.class != "" && name != s.class:
		return false, ""
	case s.lookup == nil:
		return s.class != "" || slices.Contains(ownClasses(), name), ""
	}
	return isOurs(s.lookup(name)), name
}

func isOurs(class *networkingv1.IngressClass) bool {
	return class != nil && slices.Contains(ownControllers(), class.Spec.Controller)
}
