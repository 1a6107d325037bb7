package crd_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
	"github.com/sluiceproxy/sluice/static"
)

// manifests are the objects of a file, by "GROUP KIND NAMESPACE/NAME"; the core group is empty. It is a crd.Lookup.
type manifests map[string]client.Object

func readManifests(t *testing.T, file string) (objects manifests, order []client.Object) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, register := range []func(*runtime.Scheme) error{corev1.AddToScheme, v1alpha1.AddToScheme} {
		if err := register(scheme); err != nil {
			t.Fatal(err)
		}
	}
	decoder := serializer.NewCodecFactory(scheme).UniversalDeserializer()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	objects = manifests{}
	for manifest := range strings.SplitSeq(string(text), "\n---\n") {
		decoded, kind, err := decoder.Decode([]byte(manifest), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		object := decoded.(client.Object)
		if secret, ok := object.(*corev1.Secret); ok {
			secret.Data = map[string][]byte{}
			for key, value := range secret.StringData {
				secret.Data[key] = []byte(value)
			}
		}
		objects[kind.Group+" "+kind.Kind+" "+object.GetNamespace()+"/"+object.GetName()] = object
		order = append(order, object)
	}
	return objects, order
}

// Custom implements crd.Lookup.
func (m manifests) Custom(group, kind, namespace, name string) metav1.Object {
	if object, found := m[group+" "+kind+" "+namespace+"/"+name]; found {
		return object
	}
	return nil
}

// Service implements crd.Lookup.
func (m manifests) Service(namespace, name string) *corev1.Service {
	service, _ := m[" Service "+namespace+"/"+name].(*corev1.Service)
	return service
}

// Secret implements crd.Lookup.
func (m manifests) Secret(namespace, name string) *corev1.Secret {
	secret, _ := m[" Secret "+namespace+"/"+name].(*corev1.Secret)
	return secret
}

// ConfigMap implements crd.Lookup.
func (m manifests) ConfigMap(namespace, name string) *corev1.ConfigMap {
	found, _ := m[" ConfigMap "+namespace+"/"+name].(*corev1.ConfigMap)
	return found
}

// Nodes implements crd.Lookup.
func (manifests) Nodes() []*corev1.Node { return nil }

// translated is what a golden file has of a translation.
type translated struct {
	Object   string   `json:"object"`
	Selected bool     `json:"selected"`
	Declares []string `json:"declares,omitempty"`
	Verdicts []string `json:"verdicts,omitempty"`
}

func show(object client.Object, result translation.Result, selected bool) translated {
	kind := object.GetObjectKind().GroupVersionKind()
	shown := translated{
		Object:   kind.Kind + "." + kind.Group + " " + object.GetNamespace() + "/" + object.GetName(),
		Selected: selected,
	}
	for _, kind := range []dynamic.Kind{
		dynamic.KindRouter, dynamic.KindService, dynamic.KindMiddleware, dynamic.KindTLSStore,
	} {
		names := len(shown.Declares)
		for ref := range result.Objects {
			if ref.Kind == kind {
				shown.Declares = append(shown.Declares, ref.Name)
			}
		}
		slices.Sort(shown.Declares[names:])
	}
	for _, verdict := range result.Verdicts {
		text := fmt.Sprintf("%s %s [%s] %s", verdict.Status, verdict.Ref, verdict.ReasonCode(), verdict.Reason)
		if verdict.Missing {
			text += " (missing)"
		}
		shown.Verdicts = append(shown.Verdicts, text)
	}
	return shown
}

func TestTranslate(t *testing.T) {
	files, err := filepath.Glob("testdata/translate/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			objects, order := readManifests(t, file)
			var all []translated
			for _, object := range order {
				if object.GetObjectKind().GroupVersionKind().Group == "" {
					continue
				}
				result, selected := crd.Translate(object, objects, crd.Options{Source: "kubernetes"})
				all = append(all, show(object, result, selected))
			}
			got, err := json.MarshalIndent(all, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden := strings.TrimSuffix(file, ".yaml") + ".golden.json"
			if flag.Lookup("update").Value.String() == "true" {
				if err := os.WriteFile(golden, append(got, '\n'), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)+"\n"); diff != "" {
				t.Errorf("%s (-want +got):\n%s", golden, diff)
			}
		})
	}
}

// The options decide which objects are selected and what they may refer to.
func TestTranslateFollowsItsOptions(t *testing.T) {
	objects, _ := readManifests(t, "testdata/translate/routes.yaml")
	foreign := objects["traefik.io IngressRoute shop/foreign"]
	nginx := crd.Options{KubernetesCRD: static.KubernetesCRD{IngressClass: "nginx"}, Source: "kubernetes2"}
	result, selected := crd.Translate(foreign, objects, nginx)
	if !selected || len(result.Verdicts) != 0 {
		t.Fatalf("selected %v, verdicts %v", selected, result.Verdicts)
	}
	for ref, object := range result.Objects {
		service, ok := object.(*dynamic.Service)
		if !ok {
			continue
		}
		if set := service.LoadBalancer.EndpointSet; set != "kubernetes2/shop/web:80" {
			t.Errorf("service %s has the endpoint set %s", ref.Name, set)
		}
	}
	forbidden := objects["sluice.dev IngressRoute shop/forbidden"]
	anywhere := crd.Options{KubernetesCRD: static.KubernetesCRD{AllowCrossNamespace: true}}
	result, _ = crd.Translate(forbidden, objects, anywhere)
	for _, verdict := range result.Verdicts {
		if strings.Contains(verdict.Reason, "allowCrossNamespace") {
			t.Errorf("refused although it is allowed: %s", verdict)
		}
	}
	if result, selected := crd.Translate(objects[" Service shop/web"], objects, anywhere); selected {
		t.Errorf("a Service is translated: %v", result)
	}
}

// A translation changes neither its object nor what it looks up, and the same arguments have the same result.
func TestTranslateIsPure(t *testing.T) {
	objects, order := readManifests(t, "testdata/translate/routes.yaml")
	before, _ := readManifests(t, "testdata/translate/routes.yaml")
	for _, object := range order {
		first, _ := crd.Translate(object, objects, crd.Options{Source: "kubernetes"})
		second, _ := crd.Translate(object, objects, crd.Options{Source: "kubernetes"})
		if diff := cmp.Diff(first, second); diff != "" {
			t.Errorf("%s: the second result differs (-first +second):\n%s", object.GetName(), diff)
		}
	}
	if diff := cmp.Diff(before, objects); diff != "" {
		t.Errorf("objects (-before +after):\n%s", diff)
	}
}
