package crd

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
	"github.com/sluiceproxy/sluice/static"
)

// Name is the provider's name, the part behind @ of the names of its objects.
const Name = "kubernetescrd"

// translator translates objects, one at a time. It has one method for each kind, which all have the same form:
//
//	func (t *translator) kind(source translation.Source, object *v1alpha1.Kind) translation.Result
//
// and begin with t.begin. The names of what they declare come from names.go; references to middlewares, transports and
// TLS options are followed by t.reference, those to services by t.service (also for middlewares of the kind errors). Each
// notes in the result what it looks for, found or not (result.AddNeed with backend.KindSecret and so on). It remembers nothing; the result of a method follows from its object and from what the result
// says it needs.
type translator struct {
	options static.KubernetesCRD
	// source is the first part of endpoint keys.
	source  string
	objects objects
	// values remembers the layouts of types, and pairs what was read of Secrets in this round.
	values document.Decoder
	pairs  backend.Pairs
}

// objects is what objects refer to.
type objects interface {
	backend.Objects
	backend.Secrets
	// ConfigMap returns a ConfigMap, or nil when it is not there.
	ConfigMap(namespace, name string) *corev1.ConfigMap
}

// begin returns the result that a translation fills, with its origin.
func (t *translator) begin(source translation.Source, object metav1.Object) translation.Result {
	kind, group := splitKind(source.Kind)
	return translation.Result{Origin: dynamic.Origin{
		Object: kind + " " + source.Namespace + "/" + source.Name,
		Resource: &dynamic.Resource{
			APIVersion: group + "/" + v1alpha1.Version, Kind: kind,
			Namespace: source.Namespace, Name: source.Name,
			UID: string(object.GetUID()), Generation: object.GetGeneration(),
		},
	}}
}

// translate translates an object of any kind.
func (t *translator) translate(source translation.Source, object metav1.Object) translation.Result {
	switch typed := object.(type) {
	case *v1alpha1.IngressRoute:
		return t.ingressRoute(source, typed)
	case *v1alpha1.TraefikService:
		return t.traefikService(source, typed)
	case *v1alpha1.Middleware:
		return t.middleware(source, typed)
	case *v1alpha1.ServersTransport:
		return t.serversTransport(source, typed)
	case *v1alpha1.TLSOption:
		return t.tlsOption(source, typed)
	case *v1alpha1.TLSStore:
		return t.tlsStore(source, typed)
	case *v1alpha1.IngressRouteTCP:
		return t.ingressRouteTCP(source, typed)
	case *v1alpha1.IngressRouteUDP:
		return t.ingressRouteUDP(source, typed)
	case *v1alpha1.MiddlewareTCP:
		return t.middlewareTCP(source, typed)
	case *v1alpha1.ServersTransportTCP:
		return t.serversTransportTCP(source, typed)
	}
	return t.begin(source, object)
}
