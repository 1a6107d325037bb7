package cluster

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Rollout restarts a Deployment, given as namespace/name, and waits until every pod is new and available. Old pods may
// still be terminating.
func (c *Cluster) Rollout(deployment string) {
	c.t.Helper()
	namespace, name := split(deployment)
	patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":%q}}}}}`,
		time.Now().Format(time.RFC3339Nano))
	if _, err := c.Kubernetes.AppsV1().Deployments(namespace).Patch(
		c.t.Context(), name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		c.t.Fatalf("deployment %s: %v", deployment, err)
	}
	c.Deployed(deployment)
}

// Scale sets the number of a Deployment's pods and waits until it is reached.
func (c *Cluster) Scale(deployment string, replicas int) {
	c.t.Helper()
	namespace, name := split(deployment)
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	if _, err := c.Kubernetes.AppsV1().Deployments(namespace).Patch(
		c.t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}, "scale"); err != nil {
		c.t.Fatalf("deployment %s: %v", deployment, err)
	}
	c.Deployed(deployment)
}

// Deployed waits until a Deployment, given as namespace/name, matches its manifest: every pod is new and available.
func (c *Cluster) Deployed(deployment string) {
	c.t.Helper()
	c.Until("Deployment.apps", deployment, "complete", func(object *unstructured.Unstructured) bool {
		var d appsv1.Deployment
		return convert(object, &d) && d.Status.ObservedGeneration >= d.Generation && d.Spec.Replicas != nil &&
			d.Status.UpdatedReplicas == *d.Spec.Replicas && d.Status.Replicas == *d.Spec.Replicas &&
			d.Status.AvailableReplicas == *d.Spec.Replicas
	})
}

// Endpoints waits until the EndpointSlices of a Service, given as namespace/name, contain exactly count ready addresses
// and no others, and returns them sorted.
func (c *Cluster) Endpoints(service string, count int) []string {
	c.t.Helper()
	namespace, name := split(service)
	var ready []string
	c.UntilAll("EndpointSlice.discovery.k8s.io", namespace, fmt.Sprintf("%d ready endpoints of %s", count, name),
		func(objects []*unstructured.Unstructured) bool {
			ready = nil
			for _, object := range objects {
				var slice discoveryv1.EndpointSlice
				if object.GetLabels()[discoveryv1.LabelServiceName] != name || !convert(object, &slice) {
					continue
				}
				for _, endpoint := range slice.Endpoints {
					if endpoint.Conditions.Ready != nil && !*endpoint.Conditions.Ready {
						return false
					}
					ready = append(ready, endpoint.Addresses...)
				}
			}
			slices.Sort(ready)
			return len(ready) == count
		})
	return ready
}

// convert converts an object to its typed form. It returns false if there is none, or it has another kind.
func convert(object *unstructured.Unstructured, into any) bool {
	return object != nil && runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into) == nil
}
