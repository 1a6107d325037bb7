package crd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
	"github.com/sluiceproxy/sluice/static"
)

// FuzzIngressRoute translates any IngressRoute. It never panics, its names can be used by the pipeline, what it
// declares is complete, findings speak of what is declared, and translating twice comes to the same.
func FuzzIngressRoute(f *testing.F) {
	files, err := filepath.Glob("testdata/routes/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for one := range strings.SplitSeq(string(text), "\n---\n") {
			if asJSON, err := yaml.YAMLToJSON([]byte(one)); err == nil && strings.Contains(one, "kind: IngressRoute\n") {
				f.Add(asJSON)
			}
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		object := &v1alpha1.IngressRoute{}
		if json.Unmarshal(text, object) != nil {
			return // No API server takes it.
		}
		object.Namespace, object.Name = "shop", "web"
		c := newCluster(t, static.KubernetesCRD{})
		c.apply(service("shop", "web", corev1.ServicePort{Port: 80}), "Service", "")
		source := c.apply(object, v1alpha1.KindIngressRoute, v1alpha1.GroupTraefik)
		configuration, _ := c.update()
		for name, router := range configuration.HTTP.Routers.All() {
			if name == "" || strings.Contains(name, "@") || router == nil {
				t.Errorf("router %q is %v", name, router)
			}
		}
		for name, service := range configuration.HTTP.Services.All() {
			if name == "" || strings.Contains(name, "@") || service == nil {
				t.Errorf("service %q is %v", name, service)
			}
			if balancer := service.LoadBalancer; balancer != nil && (balancer.PassHostHeader == nil ||
				balancer.ResponseForwarding == nil) {
				t.Errorf("service %q lacks defaults", name)
			}
		}
		for _, verdict := range configuration.Verdicts {
			if !declares(configuration, verdict.Ref) || verdict.Reason == "" || verdict.Origin.Resource == nil {
				t.Errorf("verdict on nothing: %+v", verdict)
			}
		}
		c.provider.memory.Touch(source)
		if _, changed := c.update(); changed {
			t.Error("translating again came to something else")
		}
	})
}

func declares(configuration *dynamic.Configuration, ref dynamic.Ref) bool {
	switch ref.Kind {
	case dynamic.KindRouter:
		return configuration.HTTP.Routers.Get(ref.Name) != nil
	case dynamic.KindService:
		return configuration.HTTP.Services.Get(ref.Name) != nil
	}
	return ref.Kind == dynamic.KindSource
}

func service(namespace, name string, ports ...corev1.ServicePort) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.ServiceSpec{ClusterIP: "192.0.2.1", Ports: ports},
	}
}
