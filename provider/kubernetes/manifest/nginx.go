package manifest

import (
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	nginxClass      = "nginx"
	nginxController = "k8s.io/ingress-nginx"
)

// HasIngressNGINX reports whether there are objects for ingress-nginx with its usual class: an IngressClass of its
// controller, or an Ingress that names the class by annotation.
func (s *Server) HasIngressNGINX() bool {
	for _, object := range s.objects[networkingv1.SchemeGroupVersion.WithResource("ingressclasses")] {
		controller, _, _ := unstructured.NestedString(object.Object, "spec", "controller")
		if controller == nginxController {
			return true
		}
	}
	for _, object := range s.objects[networkingv1.SchemeGroupVersion.WithResource("ingresses")] {
		_, named, _ := unstructured.NestedString(object.Object, "spec", "ingressClassName")
		if !named && object.GetAnnotations()["kubernetes.io/ingress.class"] == nginxClass {
			return true
		}
	}
	return false
}
