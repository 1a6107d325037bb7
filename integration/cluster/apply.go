package cluster

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
)

// maxApplied is the number of concurrent requests for objects of one kind.
const maxApplied = 8

// Apply applies every document of the manifests, as kubectl apply --server-side does, and returns the resulting
// objects. Documents are applied in order, neighbours of the same kind concurrently. It waits until a
// CustomResourceDefinition is served. The default namespace is default.
func (c *Cluster) Apply(manifests ...string) []*unstructured.Unstructured {
	c.t.Helper()
	objects, err := c.TryApply(manifests...)
	if err != nil {
		c.t.Fatal(err)
	}
	return objects
}

// TryApply is Apply for manifests that the API server may refuse: the error names each refused object.
func (c *Cluster) TryApply(manifests ...string) ([]*unstructured.Unstructured, error) {
	objects, err := decode(manifests)
	if err != nil {
		return nil, err
	}
	var faults []error
	for rest := objects; len(rest) > 0; {
		count := 1
		for count < len(rest) && rest[count].GroupVersionKind() == rest[0].GroupVersionKind() {
			count++
		}
		faults = append(faults, c.applyAlike(rest[:count]))
		rest = rest[count:]
	}
	return objects, errors.Join(faults...)
}

// applyAlike applies objects of one kind and replaces them by the results.
func (c *Cluster) applyAlike(objects []*unstructured.Unstructured) error {
	kind := objects[0].GroupVersionKind()
	mapping, err := c.mapping(kind)
	if err != nil {
		return err
	}
	faults := make([]error, len(objects))
	var running sync.WaitGroup
	room := make(chan struct{}, maxApplied)
	for i, object := range objects {
		room <- struct{}{}
		running.Go(func() {
			defer func() { <-room }()
			applied, err := c.on(mapping, object).Apply(c.t.Context(), object.GetName(), object,
				metav1.ApplyOptions{FieldManager: "test", Force: true})
			if err != nil {
				faults[i] = fmt.Errorf("%s %s/%s: %w", kind.Kind, object.GetNamespace(), object.GetName(), err)
				return
			}
			objects[i] = applied
		})
	}
	running.Wait()
	if err := errors.Join(faults...); err != nil || kind.Kind != "CustomResourceDefinition" {
		return err
	}
	for _, object := range objects {
		c.Until("CustomResourceDefinition.apiextensions.k8s.io", object.GetName(), "served", established)
	}
	c.mapper.Reset()
	return nil
}

func established(object *unstructured.Unstructured) bool {
	return Condition(object, "Established") == "True"
}

// Delete deletes every object that the manifests name, and waits until it is gone.
func (c *Cluster) Delete(manifests ...string) {
	c.t.Helper()
	objects, err := decode(manifests)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, object := range objects {
		kind, path := object.GroupVersionKind().GroupKind().String(), object.GetName()
		if object.GetNamespace() != "" {
			path = object.GetNamespace() + "/" + path
		}
		c.DeleteNow(kind, path)
		c.Until(kind, path, "gone", func(object *unstructured.Unstructured) bool { return object == nil })
	}
}

// DeleteNow deletes one object, given by its kind (Kind, or Kind.group) and namespace/name, without waiting.
func (c *Cluster) DeleteNow(kind, path string) {
	c.t.Helper()
	resource, name := c.resource(kind, path)
	if err := resource.Delete(c.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		c.t.Fatalf("%s %s: %v", kind, path, err)
	}
}

// Get returns one object, or nil.
func (c *Cluster) Get(kind, path string) *unstructured.Unstructured {
	c.t.Helper()
	resource, name := c.resource(kind, path)
	object, err := resource.Get(c.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		c.t.Fatalf("%s %s: %v", kind, path, err)
	}
	return object
}

// decode parses documents of YAML or JSON. Empty ones are skipped.
func decode(manifests []string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, manifest := range manifests {
		decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(manifest), 4096)
		for {
			object := &unstructured.Unstructured{}
			err := decoder.Decode(&object.Object)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("manifest: %w", err)
			}
			if len(object.Object) > 0 {
				objects = append(objects, object)
			}
		}
	}
	return objects, nil
}

// mapping returns the resource of a kind, which may be new.
func (c *Cluster) mapping(kind schema.GroupVersionKind) (*meta.RESTMapping, error) {
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		c.mapper.Reset()
		mapping, err = c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	}
	return mapping, err
}

// on returns the client for an object's resource and namespace, and sets a missing namespace.
func (c *Cluster) on(mapping *meta.RESTMapping, object *unstructured.Unstructured) dynamic.ResourceInterface {
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return c.Dynamic.Resource(mapping.Resource)
	}
	if object.GetNamespace() == "" {
		object.SetNamespace("default")
	}
	return c.Dynamic.Resource(mapping.Resource).Namespace(object.GetNamespace())
}

// resource returns the client for one object and its name.
func (c *Cluster) resource(kind, path string) (dynamic.ResourceInterface, string) {
	c.t.Helper()
	mapping := c.kind(kind)
	namespace, name := split(path)
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return c.Dynamic.Resource(mapping.Resource), name
	}
	return c.Dynamic.Resource(mapping.Resource).Namespace(namespace), name
}
