package crd

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
)

// Object returns an object of sluice.dev as the cluster has it now, with its status; false when it is not there. It may
// be called from any goroutine; the object is shared and must not be changed.
func (p *Provider) Object(kind, namespace, name string) (metav1.Object, bool) {
	object := p.object(v1alpha1.GroupSluice, kind, namespace, name)
	return object, object != nil
}

// Exists reports whether the cluster has an object, with its uid, that this provider translates. It may be called from
// any goroutine.
func (p *Provider) Exists(resource *dynamic.Resource) bool {
	group, _, _ := strings.Cut(resource.APIVersion, "/")
	object := p.object(group, resource.Kind, resource.Namespace, resource.Name)
	return object != nil && string(object.GetUID()) == resource.UID && p.translator.ours(object)
}

// Extension returns the name of what an object declares, with the provider; false when the cluster has no such object
// that this provider translates. Only Middlewares and TraefikServices have such names. It may be called from any
// goroutine.
func (p *Provider) Extension(group, kind, namespace, name string) (string, bool) {
	object := p.object(group, kind, namespace, name)
	if object == nil || !p.translator.ours(object) {
		return "", false
	}
	return objectName(namespace, name) + "@" + Name, true
}

// Follow has the function called when an object has appeared, changed or gone. It is called before the cluster runs;
// the function may be called by any goroutine, and returns at once.
func (p *Provider) Follow(changed func(kind, namespace, name string)) {
	p.followers = append(p.followers, changed)
}

// object returns an object as the cluster has it now, or nil.
func (p *Provider) object(group, kind, namespace, name string) metav1.Object {
	watched, known := p.kinds[kindOf(kind, group)]
	if !known {
		return nil
	}
	return watched.get(namespace, name)
}
