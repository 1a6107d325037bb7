package ingressnginx

import (
	"bytes"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client/clienttest"
	"github.com/sluiceproxy/sluice/static"
)

// fakeWatch is a watch that a test feeds.
type fakeWatch[T client.Object] struct{ *clienttest.Watch[T] }

func newWatch[T client.Object]() *fakeWatch[T] { return &fakeWatch[T]{clienttest.NewWatch[T]()} }

func (w *fakeWatch[T]) put(object T) { w.Put(object) }

func (w *fakeWatch[T]) drop(namespace, name string) { w.Drop(namespace, name) }

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
			c.ingresses.put(clienttest.Parse[networkingv1.Ingress](t, manifest))
		case "IngressClass":
			c.classes.put(clienttest.Parse[networkingv1.IngressClass](t, manifest))
		case "Service":
			c.services.put(clienttest.Parse[corev1.Service](t, manifest))
		case "Namespace":
			c.namespaces.put(clienttest.Parse[corev1.Namespace](t, manifest))
		case "ConfigMap":
			c.configMaps.put(clienttest.Parse[corev1.ConfigMap](t, manifest))
		case "Secret":
			secret := clienttest.Parse[corev1.Secret](t, manifest)
			if host := secret.StringData["generate"]; host != "" {
				secret.Data = generate(t, host)
			}
			c.secrets.put(secret)
		default:
			t.Fatalf("a manifest has the kind %q:\n%s", kind.Kind, manifest)
		}
	}
}

func readFile(tb testing.TB, path string) []byte {
	tb.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return content
}
