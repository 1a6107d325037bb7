package ingress

import (
	"bytes"
	"iter"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
	"github.com/sluiceproxy/sluice/static"
)

// fakeWatch is a watch that a test feeds.
type fakeWatch[T client.Object] struct {
	delivery sync.Mutex
	handlers []func(before, after T)

	mu      sync.Mutex
	objects map[[2]string]T
	status  client.Status
}

func newWatch[T client.Object]() *fakeWatch[T] {
	return &fakeWatch[T]{objects: map[[2]string]T{}, status: client.Status{State: dynamic.StateSynced}}
}

func (w *fakeWatch[T]) Get(namespace, name string) (T, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	object, ok := w.objects[[2]string{namespace, name}]
	return object, ok
}

func (w *fakeWatch[T]) All() iter.Seq[T] {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Values(slices.Collect(maps.Values(w.objects)))
}

func (w *fakeWatch[T]) Notify(handle func(before, after T)) {
	w.delivery.Lock()
	defer w.delivery.Unlock()
	var none T
	for object := range w.All() {
		handle(none, object)
	}
	w.handlers = append(w.handlers, handle)
}

func (w *fakeWatch[T]) Status() client.Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.status
}

func (w *fakeWatch[T]) stand(state dynamic.ProviderState, reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status = client.Status{State: state, Reason: reason}
}

func (w *fakeWatch[T]) put(object T) {
	w.delivery.Lock()
	defer w.delivery.Unlock()
	w.mu.Lock()
	key := [2]string{object.GetNamespace(), object.GetName()}
	before := w.objects[key]
	w.objects[key] = object
	w.mu.Unlock()
	for _, handle := range w.handlers {
		handle(before, object)
	}
}

func (w *fakeWatch[T]) drop(namespace, name string) {
	w.delivery.Lock()
	defer w.delivery.Unlock()
	w.mu.Lock()
	key := [2]string{namespace, name}
	before, known := w.objects[key]
	delete(w.objects, key)
	w.mu.Unlock()
	var none T
	for _, handle := range w.handlers {
		if known {
			handle(before, none)
		}
	}
}

// fakeCluster is a cluster that a test feeds.
type fakeCluster struct {
	ingresses *fakeWatch[*networkingv1.Ingress]
	classes   *fakeWatch[*networkingv1.IngressClass]
	services  *fakeWatch[*corev1.Service]
	secrets   *fakeWatch[*corev1.Secret]
	nodes     *fakeWatch[*corev1.Node]
	// namespaces decide which Ingresses another provider reads.
	namespaces *fakeWatch[*corev1.Namespace]
}

func newCluster() *fakeCluster {
	return &fakeCluster{
		ingresses: newWatch[*networkingv1.Ingress](), classes: newWatch[*networkingv1.IngressClass](),
		services: newWatch[*corev1.Service](), secrets: newWatch[*corev1.Secret](), nodes: newWatch[*corev1.Node](),
		namespaces: newWatch[*corev1.Namespace](),
	}
}

// provider returns the provider of the cluster as New would make it.
func (c *fakeCluster) provider(config static.KubernetesIngress) *Provider {
	return c.counted(config, nil)
}

func (c *fakeCluster) counted(config static.KubernetesIngress, counters translation.Counters) *Provider {
	all := watches{ingresses: c.ingresses, services: c.services, secrets: c.secrets}
	if !config.DisableClusterScopeResources {
		all.nodes = c.nodes
		if !config.DisableIngressClassLookup {
			all.classes = c.classes
		}
	}
	return assemble("kubernetes", config, all, counters)
}

// apply puts manifests into the cluster.
func (c *fakeCluster) apply(t *testing.T, manifests []byte) {
	t.Helper()
	for _, manifest := range bytes.Split(manifests, []byte("\n---\n")) {
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal(manifest, &kind); err != nil {
			t.Fatal(err)
		}
		switch kind.Kind {
		case "Ingress":
			c.ingresses.put(parsed[networkingv1.Ingress](t, manifest))
		case "IngressClass":
			c.classes.put(parsed[networkingv1.IngressClass](t, manifest))
		case "Service":
			c.services.put(parsed[corev1.Service](t, manifest))
		case "Secret":
			secret := parsed[corev1.Secret](t, manifest)
			if secret.StringData["generate"] != "" {
				secret.Data = generate(t)
			}
			c.secrets.put(secret)
		case "Node":
			c.nodes.put(parsed[corev1.Node](t, manifest))
		default:
			t.Fatalf("a manifest has the kind %q:\n%s", kind.Kind, manifest)
		}
	}
}

func parsed[T any](t *testing.T, manifest []byte) *T {
	t.Helper()
	object := new(T)
	if err := yaml.UnmarshalStrict(manifest, object); err != nil {
		t.Fatalf("%v in\n%s", err, manifest)
	}
	return object
}

func readFile(tb testing.TB, path string) []byte {
	tb.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return content
}
