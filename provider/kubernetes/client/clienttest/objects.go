package clienttest

import (
	"encoding/json"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Put creates objects or replaces those of the same name. Each gets the next resourceVersion, and the kind of the
// resource.
func (s *Server) Put(resource schema.GroupVersionResource, objects ...metav1.Object) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, object := range objects {
		text, err := json.Marshal(object)
		if err != nil {
			s.t.Fatal(err)
		}
		one := &unstructured.Unstructured{}
		if err := json.Unmarshal(text, &one.Object); err != nil {
			s.t.Fatal(err)
		}
		one.SetAPIVersion(resource.GroupVersion().String())
		one.SetKind(s.served[resource])
		s.put(resource, one)
	}
	s.wake()
}

func (s *Server) put(resource schema.GroupVersionResource, one *unstructured.Unstructured) {
	of := s.objects[resource]
	if of == nil {
		of = map[name]*unstructured.Unstructured{}
		s.objects[resource] = of
	}
	key := name{one.GetNamespace(), one.GetName()}
	what := "MODIFIED"
	if of[key] == nil {
		what = "ADDED"
	}
	of[key] = s.note(what, resource, one)
}

// Delete deletes an object.
func (s *Server) Delete(resource schema.GroupVersionResource, namespace, of string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	key := name{namespace, of}
	one := s.objects[resource][key]
	if one == nil {
		s.t.Errorf("there is no %s %s/%s to delete", resource.Resource, namespace, of)
		return
	}
	delete(s.objects[resource], key)
	s.note("DELETED", resource, one)
	s.wake()
}

// note writes a change into the history and returns the object as it is from then on.
func (s *Server) note(what string, resource schema.GroupVersionResource,
	object *unstructured.Unstructured,
) *unstructured.Unstructured {
	s.version++
	object = object.DeepCopy()
	object.SetResourceVersion(strconv.Itoa(s.version))
	s.changes = append(s.changes, change{s.version, what, resource, object})
	return object
}
