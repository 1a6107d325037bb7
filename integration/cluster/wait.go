package cluster

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/sluiceproxy/sluice/integration/cluster/follow"
)

// Until watches one object, given by its kind (Kind, or Kind.group if ambiguous) and namespace/name, until the
// condition holds, and returns it. The condition gets nil if the object does not exist. On timeout the test fails with
// what and the object.
func (c *Cluster) Until(kind, path, what string,
	holds func(*unstructured.Unstructured) bool,
) *unstructured.Unstructured {
	c.t.Helper()
	resource, name := c.resource(kind, path)
	return first(c.until(resource, "metadata.name="+name, kind+" "+path+": "+what,
		func(objects []*unstructured.Unstructured) bool {
			return holds(first(objects))
		}))
}

// UntilAll is Until for all objects of a kind in a namespace, or in all namespaces if that is empty. They are in no
// order.
func (c *Cluster) UntilAll(kind, namespace, what string,
	holds func([]*unstructured.Unstructured) bool,
) []*unstructured.Unstructured {
	c.t.Helper()
	mapping := c.kind(kind)
	var resource dynamic.ResourceInterface = c.Dynamic.Resource(mapping.Resource)
	if namespace != "" {
		resource = c.Dynamic.Resource(mapping.Resource).Namespace(namespace)
	}
	return c.until(resource, "", kind+" in "+namespace+": "+what, holds)
}

func (c *Cluster) until(
	resource dynamic.ResourceInterface, selector, what string, holds func([]*unstructured.Unstructured) bool,
) []*unstructured.Unstructured {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.t.Context()), timeout)
	defer cancel()
	source := follow.Source{
		List: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = selector
			return resource.List(ctx, o)
		},
		Watch: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = selector
			return resource.Watch(ctx, o)
		},
	}
	var objects []*unstructured.Unstructured
	var held bool
	follow.Run(ctx, source, func(changes []follow.Change) {
		if held {
			return
		}
		objects = update(objects, changes)
		if held = holds(objects); held {
			cancel()
		}
	})
	if !held {
		for _, object := range objects {
			object.SetManagedFields(nil)
		}
		last, _ := json.MarshalIndent(objects, "", "  ")
		c.t.Fatalf("%s: not within %v; there is\n%.4000s", what, timeout, last)
	}
	return objects
}

// update applies changes to a list of objects.
func update(objects []*unstructured.Unstructured, changes []follow.Change) []*unstructured.Unstructured {
	for _, change := range changes {
		object := change.Object.(*unstructured.Unstructured)
		objects = slices.DeleteFunc(objects, func(other *unstructured.Unstructured) bool {
			return other.GetNamespace() == object.GetNamespace() && other.GetName() == object.GetName() &&
				(!change.Gone || other.GetUID() == object.GetUID())
		})
		if !change.Gone {
			objects = append(objects, object)
		}
	}
	return objects
}

func first(objects []*unstructured.Unstructured) *unstructured.Unstructured {
	if len(objects) == 0 {
		return nil
	}
	return objects[0]
}

// Condition returns the status of an object's condition, or an empty string.
func Condition(object *unstructured.Unstructured, kind string) string {
	if object == nil {
		return ""
	}
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, one := range conditions {
		if condition, ok := one.(map[string]any); ok && condition["type"] == kind {
			status, _ := condition["status"].(string)
			return status
		}
	}
	return ""
}

// kind returns the resource of a kind given as Kind or Kind.group.
func (c *Cluster) kind(text string) *meta.RESTMapping {
	c.t.Helper()
	parsed := schema.ParseGroupKind(text)
	// The singular name is the kind in lower case.
	wanted := schema.GroupVersionResource{Group: parsed.Group, Resource: strings.ToLower(parsed.Kind)}
	found, err := c.mapper.KindFor(wanted)
	if meta.IsNoMatchError(err) {
		c.mapper.Reset()
		found, err = c.mapper.KindFor(wanted)
	}
	if err != nil {
		c.t.Fatalf("%s: %v", text, err)
	}
	mapping, err := c.mapping(found)
	if err != nil {
		c.t.Fatalf("%s: %v", text, err)
	}
	return mapping
}
