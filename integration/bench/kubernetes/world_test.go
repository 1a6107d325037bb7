package kubernetes

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/sluiceproxy/sluice/integration/cluster"
)

const (
	// namespaces is how many namespaces the routes are spread over.
	namespaces = 10
	// hands is how many objects are written at a time.
	hands = 24
	// path is the path of all requests.
	path = "/shop/basket"
)

// world is everything that is in the cluster. Each service is changed by one goroutine at a time.
type world struct {
	*cluster.Cluster

	client kubernetes.Interface
	// slices and colours are those of the services, as they were last written.
	slices  []*discoveryv1.EndpointSlice
	colours []colour
	edits   int
	made    int
	random  *rand.Rand
}

func newWorld(tb testing.TB) *world {
	tb.Helper()
	c := cluster.Start(tb)
	config := rest.CopyConfig(c.Config)
	config.ContentType = "application/vnd.kubernetes.protobuf" // It leaves more of the machine to what is measured.
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		tb.Fatal(err)
	}
	files, err := filepath.Glob("../../../deploy/crds/traefik.io/*.yaml")
	if err != nil || len(files) == 0 {
		tb.Fatalf("no definitions of custom resources (%v)", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		c.Apply(string(text))
	}
	for i := range namespaces {
		c.Apply("{apiVersion: v1, kind: Namespace, metadata: {name: " + namespace(i) + "}}")
	}
	return &world{Cluster: c, client: client, random: rand.New(rand.NewPCG(1, 2))}
}

func namespace(i int) string { return fmt.Sprintf("bench-%d", i%namespaces) }
func host(i int) string      { return fmt.Sprintf("h%05d.example.com", i) }
func service(i int) string   { return fmt.Sprintf("service-%05d", i) }
func route(i int) string     { return fmt.Sprintf("route-%05d", i) }

// resource is where IngressRoutes are.
func resource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "traefik.io", Version: "v1alpha1", Resource: "ingressroutes"}
}

// grow makes services, slices and routes until there are that many, and returns how long it took to write each kind.
func (w *world) grow(tb testing.TB, size int) (took [3]time.Duration) {
	tb.Helper()
	begun := time.Now()
	lap := func() time.Duration { d := time.Since(begun); begun = time.Now(); return d.Round(time.Millisecond) }
	from := len(w.slices)
	w.slices = append(w.slices, make([]*discoveryv1.EndpointSlice, size-from)...)
	w.colours = append(w.colours, make([]colour, size-from)...)
	each(tb, from, size, func(ctx context.Context, i int) error {
		_, err := w.client.CoreV1().Services(namespace(i)).Create(ctx, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: service(i), Labels: map[string]string{"app.kubernetes.io/name": service(i)}},
			// Allocating addresses would take the API server longer than all the rest.
			Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{
				Name: "http", Port: 80,
				Protocol: corev1.ProtocolTCP,
			}}},
		}, metav1.CreateOptions{})
		return err
	})
	took[0] = lap()
	each(tb, from, size, func(ctx context.Context, i int) (err error) {
		w.slices[i], err = w.client.DiscoveryV1().EndpointSlices(namespace(i)).Create(ctx, slice(i), metav1.CreateOptions{})
		return err
	})
	took[1] = lap()
	each(tb, from, size, func(ctx context.Context, i int) error {
		return w.create(ctx, i, route(i), host(i))
	})
	took[2] = lap()
	return took
}

// slice returns the EndpointSlice of a service as it is at first.
func slice(i int) *discoveryv1.EndpointSlice {
	name, port, protocol := "http", int32(endpointPort), corev1.ProtocolTCP
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Name: service(i) + "-x7k2p", Labels: map[string]string{
			discoveryv1.LabelServiceName: service(i), discoveryv1.LabelManagedBy: "bench.sluice.dev",
		}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: &name, Port: &port, Protocol: &protocol}},
		Endpoints:   endpoints(i, blue),
	}
}

// endpoints returns the one or two endpoints of a service.
func endpoints(i int, c colour) []discoveryv1.Endpoint {
	var all []discoveryv1.Endpoint
	yes, no := true, false
	for n := range 1 + i%2 {
		all = append(all, discoveryv1.Endpoint{
			Addresses:  []string{place(c, i+n)},
			Conditions: discoveryv1.EndpointConditions{Ready: &yes, Serving: &yes, Terminating: &no},
			TargetRef: &corev1.ObjectReference{
				Kind: "Pod", Namespace: namespace(i), Name: fmt.Sprintf("%s-%s-%d", service(i), c, n),
				UID: types.UID(fmt.Sprintf("00000000-0000-4000-8000-%05d%05d%d%d", i, 0, n, c)),
			},
		})
	}
	return all
}

// move moves a service to the other colour, and returns the version of the slice.
func (w *world) move(ctx context.Context, i int) (version string, err error) {
	next := w.slices[i].DeepCopy()
	next.Endpoints = endpoints(i, w.colours[i].other())
	now, err := w.client.DiscoveryV1().EndpointSlices(namespace(i)).Update(ctx, next, metav1.UpdateOptions{})
	if err != nil {
		return "", err
	}
	w.slices[i], w.colours[i] = now, w.colours[i].other()
	return now.ResourceVersion, nil
}

// create makes an IngressRoute of a service.
func (w *world) create(ctx context.Context, i int, name, host string) error {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "traefik.io/v1alpha1", "kind": "IngressRoute",
		"metadata": map[string]any{"name": name, "labels": map[string]any{"app.kubernetes.io/name": service(i)}},
		"spec":     map[string]any{"entryPoints": []any{"web"}, "routes": routes(i, host, "/", 0)},
	}}
	_, err := w.Dynamic.Resource(resource()).Namespace(namespace(i)).Create(ctx, object, metav1.CreateOptions{})
	return err
}

// routes is the content of an IngressRoute.
func routes(i int, host, prefix string, priority int64) []any {
	one := map[string]any{
		"kind": "Rule", "match": fmt.Sprintf("Host(`%s`) && PathPrefix(`%s`)", host, prefix),
		"services": []any{map[string]any{"name": service(i), "port": int64(80)}},
	}
	if priority > 0 {
		one["priority"] = priority
	}
	return []any{one}
}

// each does something for all numbers of a range.
func each(tb testing.TB, from, to int, act func(context.Context, int) error) {
	tb.Helper()
	var running sync.WaitGroup
	failed := make(chan error, hands)
	for hand := range hands {
		running.Go(func() {
			for i := from + hand; i < to; i += hands {
				if err := act(tb.Context(), i); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	running.Wait()
	close(failed)
	for err := range failed {
		tb.Fatal(err)
	}
}

// shuffled returns numbers of services in a random order, none twice before all have been there.
func (w *world) shuffled() func() int {
	var order []int
	return func() int {
		if len(order) == 0 {
			order = w.random.Perm(len(w.slices))
		}
		next := order[0]
		order = order[1:]
		return next
	}
}
