package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
)

// thing is one object of any kind.
type thing struct {
	resource        schema.GroupVersionResource
	namespace, name string
	uid             types.UID
	finalizers      bool
}

// key identifies the object, also among successors with the same name.
func (o thing) key() string {
	return o.resource.Resource + "." + o.resource.Group + "/" + o.namespace + "/" + o.name
}

// knownFile lists the objects of the empty cluster.
const knownFile = "known.json"

// unwatched are resources that are derived from others.
func unwatched() []string {
	return []string{
		"componentstatuses.", "apiservices.apiregistration.k8s.io", "ipaddresses.networking.k8s.io",
		"servicecidrs.networking.k8s.io",
		"flowschemas.flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
	}
}

// remember returns the keys of the objects of the empty cluster. The first test writes them down.
func (c *Cluster) remember() map[string]bool {
	c.t.Helper()
	known := map[string]bool{}
	text, err := os.ReadFile(c.control.file(knownFile))
	if err == nil {
		if err := json.Unmarshal(text, &known); err != nil {
			c.t.Fatal(err)
		}
		return known
	}
	if !errors.Is(err, fs.ErrNotExist) {
		c.t.Fatal(err)
	}
	// created by the controllers at first
	for _, namespace := range []string{"default", "kube-system", "kube-public", "kube-node-lease"} {
		c.Until("ServiceAccount", namespace+"/default", "made", func(object *unstructured.Unstructured) bool {
			return object != nil
		})
		c.Until("ConfigMap", namespace+"/kube-root-ca.crt", "made", func(object *unstructured.Unstructured) bool {
			return object != nil
		})
	}
	for _, one := range c.everything() {
		known[one.key()] = true
	}
	if text, err = json.Marshal(known); err == nil {
		err = os.WriteFile(c.control.file(knownFile), text, 0o600)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return known
}

// many is the number of objects from which on a restart of the control plane is faster than deleting them.
const many = 500

// clean deletes new objects until none is left. If there are too many, it deletes the data of the control plane, which
// the next test restarts.
func (c *Cluster) clean(known map[string]bool) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.t.Context()), timeout)
	defer cancel()
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for {
		left := slices.DeleteFunc(c.everything(), func(one thing) bool { return known[one.key()] })
		if len(left) == 0 {
			return
		}
		if len(left) > many {
			if err := errors.Join(c.control.stop(), os.RemoveAll(c.control.file("etcd")),
				os.Remove(c.control.file(knownFile))); err != nil {
				c.t.Error(err)
			}
			return
		}
		c.removeAll(ctx, left)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			c.t.Errorf("the cluster is not clean: %d objects are left, the first is %s", len(left), left[0].key())
			return
		}
	}
}

// removeAll deletes everything that is left: first what creates other objects.
func (c *Cluster) removeAll(ctx context.Context, left []thing) {
	full := map[string]bool{}
	var early, late, namespaces []thing
	for _, one := range left {
		full[one.namespace] = true
		switch one.resource.Resource {
		case "namespaces":
			namespaces = append(namespaces, one)
		case "deployments", "replicasets", "daemonsets", "customresourcedefinitions", "services":
			early = append(early, one)
		default:
			late = append(late, one)
		}
	}
	c.each(namespaces, func(one thing) { c.remove(ctx, one) })
	c.each(early, func(one thing) { c.remove(ctx, one) })
	c.each(late, func(one thing) { c.remove(ctx, one) })
	c.each(namespaces, func(one thing) {
		if !full[one.name] { // The namespace controller would retry after some seconds only.
			_, _ = c.Kubernetes.CoreV1().Namespaces().Finalize(ctx,
				&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: one.name}}, metav1.UpdateOptions{})
		}
	})
}

func (c *Cluster) each(things []thing, act func(thing)) {
	var running sync.WaitGroup
	room := make(chan struct{}, maxApplied)
	for _, one := range things {
		room <- struct{}{}
		running.Go(func() {
			defer func() { <-room }()
			act(one)
		})
	}
	running.Wait()
}

// remove deletes an object without grace and without finalizers. Failures are retried later.
func (c *Cluster) remove(ctx context.Context, one thing) {
	var client dynamic.ResourceInterface = c.Dynamic.Resource(one.resource)
	if one.namespace != "" {
		client = c.Dynamic.Resource(one.resource).Namespace(one.namespace)
	}
	now, background := int64(0), metav1.DeletePropagationBackground
	err := client.Delete(ctx, one.name, metav1.DeleteOptions{
		GracePeriodSeconds: &now, PropagationPolicy: &background, Preconditions: &metav1.Preconditions{UID: &one.uid},
	})
	if err == nil && one.finalizers && one.resource.Resource != "customresourcedefinitions" {
		_, _ = client.Patch(ctx, one.name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`),
			metav1.PatchOptions{})
	}
}

// everything lists all deletable objects of the cluster.
func (c *Cluster) everything() []thing {
	c.t.Helper()
	ctx := context.WithoutCancel(c.t.Context())
	_, lists, err := c.Kubernetes.Discovery().ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		c.t.Fatal(err)
	}
	var found []thing
	listed := map[string]bool{}
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "delete"}}, lists) {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			c.t.Fatal(err)
		}
		for _, resource := range list.APIResources {
			key := resource.Name + "." + version.Group
			if listed[key] || slices.Contains(unwatched(), key) {
				continue
			}
			listed[key] = true
			found = append(found, c.listAll(ctx, version.WithResource(resource.Name))...)
		}
	}
	return found
}

func (c *Cluster) listAll(ctx context.Context, resource schema.GroupVersionResource) []thing {
	c.t.Helper()
	objects, err := c.metadata.Resource(resource).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
		return nil // Its definition has been deleted.
	}
	if err != nil {
		c.t.Fatalf("%s: %v", resource, err)
	}
	var found []thing
	for _, object := range objects.Items {
		found = append(found, thing{resource, object.Namespace, object.Name, object.UID, len(object.Finalizers) > 0})
	}
	return found
}
