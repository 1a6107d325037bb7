package ingress

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
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
	"github.com/sluiceproxy/sluice/static"
)

// fakeWatch is a watch that a test feeds.
type fakeWatch[T client.Object] struct{ *clienttest.Watch[T] }

func newWatch[T client.Object]() *fakeWatch[T] { return &fakeWatch[T]{clienttest.NewWatch[T]()} }

func (w *fakeWatch[T]) put(object T) { w.Put(object) }

func (w *fakeWatch[T]) drop(namespace, name string) { w.Drop(namespace, name) }

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
			c.ingresses.put(clienttest.Parse[networkingv1.Ingress](t, manifest))
		case "IngressClass":
			c.classes.put(clienttest.Parse[networkingv1.IngressClass](t, manifest))
		case "Service":
			c.services.put(clienttest.Parse[corev1.Service](t, manifest))
		case "Secret":
			secret := clienttest.Parse[corev1.Secret](t, manifest)
			if secret.StringData["generate"] != "" {
				secret.Data = generate(t)
			}
			c.secrets.put(secret)
		case "Node":
			c.nodes.put(clienttest.Parse[corev1.Node](t, manifest))
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
