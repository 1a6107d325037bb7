package kubernetes

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluiceproxy/sluice/loadbalancer/sticky"
)

const (
	// divisible is how many Services a variant has, podsOf how many pods each of them has, and tags how many tags all
	// pods have.
	divisible, podsOf, tags = 50, 100, 500
	// followed is how many of the Services have a sticky cookie, with which a client follows one pod.
	followed = 5
	// podPort is the port of the pods of the first Service.
	podPort = 20_000
)

// variant is a namespace with Services and pods, and the Sluice that reads nothing else.
type variant struct {
	*subject

	name   string
	slices []*discoveryv1.EndpointSlice
	pods   []*corev1.Pod
}

// address returns the address of a pod. Pods of different Services differ in their ports.
func address(pod int) string { return fmt.Sprintf("198.51.100.%d", 100+pod) }

// tag returns the tag of a pod of a Service.
func tag(service, pod int) string { return fmt.Sprintf("dev.t%d", (service*podsOf+pod)%tags) }

// servePods starts all pods, each of which answers with its address.
func servePods(tb testing.TB) {
	tb.Helper()
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request,
	) {
		if local, is := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); is {
			_, _ = w.Write([]byte(local.IP.String()))
		}
	})}
	for i := range divisible {
		var config net.ListenConfig
		listener, err := config.Listen(tb.Context(), "tcp4", fmt.Sprintf("0.0.0.0:%d", podPort+i))
		if err != nil {
			tb.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { defer close(ended); _ = server.Serve(listener) }()
		tb.Cleanup(func() { <-ended })
	}
	tb.Cleanup(func() { _ = server.Close() })
}

// newVariant writes a namespace with Services, their pods and routes, and what else is in it, and starts a Sluice that
// reads it.
func newVariant(tb testing.TB, w *world, r *results, name string, manifests ...string) *variant {
	tb.Helper()
	w.Apply("{apiVersion: v1, kind: Namespace, metadata: {name: " + name + "}}")
	w.Apply(manifests...)
	w.Until("ServiceAccount", name+"/default", "made", func(object *unstructured.Unstructured) bool {
		return object != nil
	})
	v := &variant{
		subject: &subject{world: w}, name: name, slices: make([]*discoveryv1.EndpointSlice, divisible),
		pods: make([]*corev1.Pod, divisible*podsOf),
	}
	each(tb, 0, len(v.pods), func(ctx context.Context, n int) (err error) {
		v.pods[n], err = v.createPod(ctx, n/podsOf, n%podsOf, tag(n/podsOf, n%podsOf))
		return err
	})
	each(tb, 0, divisible, v.createService)
	v.subject = startWith(tb, w, r, strings.Replace(static, `token: "${TOKEN}"`,
		`token: "${TOKEN}", namespaces: ["`+name+`"]`, 1))
	return v
}

// createPod creates the object of a pod. Its node does not exist, so that it is not started.
func (v *variant) createPod(ctx context.Context, service, pod int, tag string) (*corev1.Pod, error) {
	return v.world.client.CoreV1().Pods(v.name).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("pod-%02d-%03d", service, pod), Labels: map[string]string{"virtual-env": tag},
		},
		Spec: corev1.PodSpec{NodeName: "elsewhere", Containers: []corev1.Container{{Name: "web", Image: "web"}}},
	}, metav1.CreateOptions{})
}

// createService creates a Service, the slice with its pods, and its route.
func (v *variant) createService(ctx context.Context, i int) error {
	one := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: service(i)}, Spec: corev1.ServiceSpec{
		ClusterIP: corev1.ClusterIPNone,
		Ports:     []corev1.ServicePort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP}},
	}}
	if _, err := v.world.client.CoreV1().Services(v.name).Create(ctx, one, metav1.CreateOptions{}); err != nil {
		return err
	}
	all := slice(i)
	port := int32(podPort + i)
	all.Ports[0].Port, all.Endpoints = &port, nil
	for j := range podsOf {
		all.Endpoints = append(all.Endpoints, endpointOf(v.pods[i*podsOf+j], address(j)))
	}
	var err error
	if v.slices[i], err = v.world.client.DiscoveryV1().EndpointSlices(v.name).Create(ctx, all,
		metav1.CreateOptions{}); err != nil {
		return err
	}
	rules := routes(i, host(i), "/", 0)
	if i < followed {
		reference := rules[0].(map[string]any)["services"].([]any)[0].(map[string]any)
		reference["sticky"] = map[string]any{"cookie": map[string]any{"name": "pod"}}
	}
	_, err = v.world.Dynamic.Resource(resource()).Namespace(v.name).Create(ctx, &unstructured.Unstructured{
		Object: map[string]any{
			"apiVersion": "traefik.io/v1alpha1", "kind": "IngressRoute", "metadata": map[string]any{"name": route(i)},
			"spec": map[string]any{"entryPoints": []any{"web"}, "routes": rules},
		},
	}, metav1.CreateOptions{})
	return err
}

// endpointOf returns the endpoint of a pod that is ready.
func endpointOf(pod *corev1.Pod, address string) discoveryv1.Endpoint {
	yes, no := true, false
	return discoveryv1.Endpoint{
		Addresses:  []string{address},
		Conditions: discoveryv1.EndpointConditions{Ready: &yes, Serving: &yes, Terminating: &no},
		TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
	}
}

// report writes the status of a pod, as a kubelet does before the endpoint controller writes the slice.
func (v *variant) report(ctx context.Context, i, j int, ready bool) error {
	next := v.pods[i*podsOf+j].DeepCopy()
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	next.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.Now(),
	}}
	now, err := v.world.client.CoreV1().Pods(v.name).UpdateStatus(ctx, next, metav1.UpdateOptions{})
	if err == nil {
		v.pods[i*podsOf+j] = now
	}
	return err
}

// write writes the slice of a Service after a change, and returns its version.
func (v *variant) write(ctx context.Context, i int, change func(*discoveryv1.EndpointSlice)) (string, error) {
	next := v.slices[i].DeepCopy()
	change(next)
	now, err := v.world.client.DiscoveryV1().EndpointSlices(v.name).Update(ctx, next, metav1.UpdateOptions{})
	if err != nil {
		return "", err
	}
	v.slices[i] = now
	return now.ResourceVersion, nil
}

// readiness returns a change of the readiness of a pod.
func readiness(pod int, ready bool) func(*discoveryv1.EndpointSlice) {
	return func(slice *discoveryv1.EndpointSlice) {
		slice.Endpoints[pod].Conditions.Ready, slice.Endpoints[pod].Conditions.Serving = &ready, &ready
	}
}

// selecting returns the lines of a request for a pod with a tag.
func selecting(service, pod int, tag string) string {
	id := sticky.ID(fmt.Sprintf("http://%s:%d", address(pod), podPort+service))
	return fmt.Sprintf("X-Virtual-Env: %s\r\nCookie: pod=%s\r\n", tag, id)
}

// servedBy waits for the answer of a pod.
func servedBy(address string) func(int, string) bool {
	return func(status int, text string) bool { return status == http.StatusOK && text == address }
}

// notServedBy waits for an answer, or an error, of anything else.
func notServedBy(address string) func(int, string) bool {
	return func(_ int, text string) bool { return text != address }
}

// remove stops the Sluice and deletes the namespace. Nothing ends pods without a node but their deletion at once.
func (v *variant) remove(tb testing.TB) {
	tb.Helper()
	v.Stop()
	now := int64(0)
	err := v.world.client.CoreV1().Pods(v.name).DeleteCollection(tb.Context(),
		metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	v.world.DeleteNow("Namespace", v.name)
}
