package crd

import (
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
	"github.com/sluiceproxy/sluice/static"
)

// Name is the provider's name, the part behind @ of the names of its objects.
const Name = "kubernetescrd"

// translator translates objects, one at a time. It has one method for each kind, which all have the same form:
//
//	func (t *translator) kind(result *translation.Result, source translation.Source, object *v1alpha1.Kind)
//
// and fill a result that has its origin. The names of what they declare come from names.go; references to middlewares,
// transports and TLS options are followed by t.reference, those to services by t.service (also for middlewares of the
// kind errors). Each notes in the result what it looks for, found or not (result.AddNeed with backend.KindSecret and so
// on). What a method adds follows from its object and from what the result says it needs.
type translator struct {
	options static.KubernetesCRD
	// source is the first part of endpoint keys.
	source  string
	objects Lookup
	// environments says which Services are divided; nil divides none.
	environments backend.Environments
	// values caches the layouts of types, and pairs what was read of Secrets in this round.
	values document.Decoder
	pairs  backend.Pairs
	// last is nil where the names of routers follow from their rules alone.
	last *lastNames
}

// Lookup finds the other objects of the cluster that a translation reads.
type Lookup interface {
	backend.Objects
	backend.Secrets
	// ConfigMap returns a ConfigMap, or nil when it does not exist.
	ConfigMap(namespace, name string) *corev1.ConfigMap
	// Custom returns a custom resource of a group (see v1alpha1.Groups) and kind, or nil when it does not exist.
	Custom(group, kind, namespace, name string) metav1.Object
}

// Options are the options of a translation.
type Options struct {
	// KubernetesCRD are the options of the provider. Those of the connection and of the watches have no effect here.
	static.KubernetesCRD
	// Source is the first part of the keys of endpoint sets, client.Cluster.Source of the running provider.
	Source string
}

// Translate returns what one custom resource declares, and the verdicts on it. The result follows from its arguments
// alone and is the one that a running provider with these options has for the object, so that an admission webhook can
// call it before the object exists. Verdicts that depend on other objects with the same names are not among them.
//
// The group is that of the object's APIVersion; an unknown one, or none, means sluice.dev. It returns false for an
// object of another type than those of v1alpha1, and for a route whose class the options do not select.
func Translate(object client.Object, lookup Lookup, options Options) (translation.Result, bool) {
	// All types of v1alpha1 have the name of their kind.
	kind, group := reflect.TypeOf(object).Elem().Name(), object.GetObjectKind().GroupVersionKind().Group
	if !slices.Contains(v1alpha1.Groups(), group) {
		group = v1alpha1.GroupSluice
	}
	if !slices.Contains(kinds(), kindOf(kind, group)) {
		return translation.Result{}, false
	}
	t := &translator{options: options.KubernetesCRD, source: options.Source, objects: lookup}
	source := translation.Source{Kind: kindOf(kind, group), Namespace: object.GetNamespace(), Name: object.GetName()}
	return t.result(source, object)
}

// result translates a source; it is false for an object of a class that the options do not select.
func (t *translator) result(source translation.Source, object metav1.Object) (result translation.Result, ok bool) {
	if !t.ours(object) {
		return result, false
	}
	kind, group := splitKind(source.Kind)
	result.Origin = dynamic.Origin{
		Object: kind + " " + source.Namespace + "/" + source.Name,
		Resource: &dynamic.Resource{
			APIVersion: group + "/" + v1alpha1.Version, Kind: kind,
			Namespace: source.Namespace, Name: source.Name,
			UID: string(object.GetUID()), Generation: object.GetGeneration(),
		},
	}
	if other := t.shadow(source); other != "" {
		result.Degrade(source.Ref(), dynamic.CodeConflictingName,
			"the object of the same kind and name in the group "+other+" is used instead", false)
		return result, true
	}
	switch typed := object.(type) {
	case *v1alpha1.IngressRoute:
		t.ingressRoute(&result, source, typed)
	case *v1alpha1.TraefikService:
		t.traefikService(&result, source, typed)
	case *v1alpha1.Middleware:
		t.middleware(&result, source, typed)
	case *v1alpha1.ServersTransport:
		t.serversTransport(&result, source, typed)
	case *v1alpha1.TLSOption:
		t.tlsOption(&result, source, typed)
	case *v1alpha1.TLSStore:
		t.tlsStore(&result, source, typed)
	case *v1alpha1.IngressRouteTCP:
		t.ingressRouteTCP(&result, source, typed)
	case *v1alpha1.IngressRouteUDP:
		t.ingressRouteUDP(&result, source, typed)
	case *v1alpha1.MiddlewareTCP:
		t.middlewareTCP(&result, source, typed)
	case *v1alpha1.ServersTransportTCP:
		t.serversTransportTCP(&result, source, typed)
	}
	backend.Divide(&result, t.environments)
	return result, true
}

// shadow returns the group whose object of the same kind, namespace and name has precedence; empty when there is none.
func (t *translator) shadow(source translation.Source) string {
	kind, own := splitKind(source.Kind)
	for _, group := range v1alpha1.Groups() {
		if group == own {
			return ""
		}
		object := t.objects.Custom(group, kind, source.Namespace, source.Name)
		if object != nil && t.ours(object) {
			return group
		}
	}
	return ""
}

// ours reports whether an object's class is the one that the option ingressClass names. Without the option, those are
// objects without a class, and of the classes traefik and sluice. Only routes have a class.
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
