package crd

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
)

// Object returns an object of sluice.dev as the cluster has it now, with its status; false when it is not there. It may
// be called from any goroutine; the object is shared and must not be changed.
func (p *Provider) Object(kind, namespace, name string) (metav1.Object, bool) {
	watched, known := p.kinds[kindOf(kind, v1alpha1.GroupSluice)]
	if !known {
		return nil, false
	}
	object := watched.get(namespace, name)
	return object, object != nil
}
