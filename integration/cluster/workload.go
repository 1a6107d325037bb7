package cluster

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluiceproxy/sluice/integration/harness"
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
// and no others, with a selector those of pods that are not being deleted, and returns them sorted.
func (c *Cluster) Endpoints(service string, count int) []string {
	c.t.Helper()
	namespace, name := split(service)
	var ready []string
	harness.Eventually(c.t, timeout, func() bool {
		ready = c.ready(namespace, name, count)
		return !c.stale(namespace, name, ready)
	}, func() string { return fmt.Sprintf("the endpoints %q of %s are pods", ready, name) })
	return ready
}

// stale reports whether an address is of no pod that a Service selects: the EndpointSlices come later than the pods.
func (c *Cluster) stale(namespace, name string, addresses []string) bool {
	c.t.Helper()
	service, err := c.Kubernetes.CoreV1().Services(namespace).Get(c.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		c.t.Fatalf("service %s/%s: %v", namespace, name, err)
	}
	if len(service.Spec.Selector) == 0 {
		return false
	}
	pods, err := c.Kubernetes.CoreV1().Pods(namespace).List(c.t.Context(), metav1.ListOptions{
		LabelSelector: labels.SelectorFromSet(service.Spec.Selector).String(),
	})
	if err != nil {
		c.t.Fatalf("pods of service %s/%s: %v", namespace, name, err)
	}
	running := map[string]bool{}
	for i := range pods.Items {
		if pods.Items[i].DeletionTimestamp != nil {
			continue
		}
		for _, address := range pods.Items[i].Status.PodIPs {
			running[address.IP] = true
		}
	}
	return slices.ContainsFunc(addresses, func(address string) bool { return !running[address] })
}

// ready waits until the EndpointSlices of a Service contain exactly count ready addresses and no others, and returns
// them sorted.
func (c *Cluster) ready(namespace, name string, count int) []string {
	c.t.Helper()
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
