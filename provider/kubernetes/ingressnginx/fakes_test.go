package ingressnginx

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
	ingresses  *fakeWatch[*networkingv1.Ingress]
	classes    *fakeWatch[*networkingv1.IngressClass]
	services   *fakeWatch[*corev1.Service]
	secrets    *fakeWatch[*corev1.Secret]
	configMaps *fakeWatch[*corev1.ConfigMap]
	namespaces *fakeWatch[*corev1.Namespace]
}

func newCluster() *fakeCluster {
	return &fakeCluster{
		ingresses: newWatch[*networkingv1.Ingress](), classes: newWatch[*networkingv1.IngressClass](),
		services: newWatch[*corev1.Service](), secrets: newWatch[*corev1.Secret](),
		configMaps: newWatch[*corev1.ConfigMap](), namespaces: newWatch[*corev1.Namespace](),
	}
}

// provider returns the provider of the cluster as New would make it.
func (c *fakeCluster) provider(config static.KubernetesNGINX) *Provider {
	all := watches{
		ingresses: c.ingresses, classes: c.classes, services: c.services, secrets: c.secrets, configMaps: c.configMaps,
	}
	if config.WatchNamespaceSelector != "" {
		all.namespaces = c.namespaces
	}
	return assemble("kubernetes", config, all, nil)
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
		case "Namespace":
			c.namespaces.put(parsed[corev1.Namespace](t, manifest))
		case "ConfigMap":
			c.configMaps.put(parsed[corev1.ConfigMap](t, manifest))
		case "Secret":
			secret := parsed[corev1.Secret](t, manifest)
			if host := secret.StringData["generate"]; host != "" {
				secret.Data = generate(t, host)
			}
			c.secrets.put(secret)
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
