package client

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Object is what can be watched: a pointer to a typed Kubernetes object.
type Object interface {
	metav1.Object
	runtime.Object
}

// Resource defines how objects of type T are read.
type Resource[T Object] struct {
	// GroupVersion is the API that serves the resource; its group is empty for the core API.
	GroupVersion schema.GroupVersion
	// Name is the resource's name in URLs and RBAC rules: the plural in lower case.
	Name string
	// Kind is the kind of one object, for messages.
	Kind string
	// Namespaced is set for namespaced objects; a Scope's Namespaces are ignored for others.
	Namespaced bool
	// NewList returns an empty list of the resource; it is needed where the API server cannot stream what is there.
	NewList func() runtime.Object
	// Strip clears unused fields; nil keeps everything except managedFields. It may be called several times for one
	// object. It must be the same for all watches of one resource, beside one with Whole.
	Strip func(T)
	// Whole says that Strip keeps more than that of other watches of the resource, which then get as much. Such a watch
	// is registered before the cluster runs.
	Whole bool
	// Metadata is set if the API server is to send the metadata of objects alone; T is then a
	// *metav1.PartialObjectMetadata. It is for resources of the core API.
	Metadata bool
	// FieldSelector leaves objects out at the API server; empty leaves out none.
	FieldSelector string
	// LabelSelector leaves objects out at the API server, beside the Scope's one; empty leaves out none.
	LabelSelector string
}

// Scope selects the watched objects of a resource.
type Scope struct {
	// Namespaces are watched one by one, so that rights in them alone suffice; none means all of them at once.
	Namespaces []string
	// LabelSelector leaves objects out at the API server; empty leaves out none.
	LabelSelector string
}

// namespaces returns the namespaces of the streams that a resource needs: "" is one stream for all of them.
func (s Scope) namespaces(namespaced bool) []string {
	if !namespaced || len(s.Namespaces) == 0 {
		return []string{""}
	}
	return slices.Compact(slices.Sorted(slices.Values(s.Namespaces)))
}

// watchKey is equal for equal resources in equal scopes.
func watchKey[T Object](resource Resource[T], scope Scope) string {
	return strings.Join([]string{
		resource.GroupVersion.String(), resource.Name, resource.FieldSelector, resource.LabelSelector, scope.LabelSelector,
		strings.Join(scope.namespaces(resource.Namespaced), ","),
	}, "\n")
}
