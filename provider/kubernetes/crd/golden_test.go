package crd

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
	"github.com/sluiceproxy/sluice/static"
)

var update = flag.Bool("update", false, "write the goldens anew")

// cluster is a cluster in memory, with a provider that reads it.
type cluster struct {
	t        testing.TB
	provider *Provider
	core     map[translation.Source]metav1.Object
	custom   map[translation.Source]metav1.Object
}

func newCluster(t testing.TB, options static.KubernetesCRD) *cluster {
	c := &cluster{t: t, core: map[translation.Source]metav1.Object{}, custom: map[translation.Source]metav1.Object{}}
	known := kinds()
	c.provider = &Provider{
		memory:     translation.New(Name, known, nil),
		kinds:      map[string]kindWatch{},
		translator: translator{options: options, source: "kubernetes", objects: c},
	}
	for _, kind := range known {
		c.provider.kinds[kind] = kindWatch{
			watch: synced{},
			get: func(namespace, name string) metav1.Object {
				return c.custom[translation.Source{Kind: kind, Namespace: namespace, Name: name}]
			},
		}
	}
	return c
}

type synced struct{}

func (synced) Status() client.Status { return client.Status{State: dynamic.StateSynced} }

func find[T metav1.Object](c *cluster, kind, namespace, name string) T {
	object, _ := c.core[translation.Source{Kind: kind, Namespace: namespace, Name: name}].(T)
	return object
}

func (c *cluster) Service(namespace, name string) *corev1.Service {
	return find[*corev1.Service](c, "Service", namespace, name)
}

func (c *cluster) Secret(namespace, name string) *corev1.Secret {
	return find[*corev1.Secret](c, "Secret", namespace, name)
}

func (c *cluster) ConfigMap(namespace, name string) *corev1.ConfigMap {
	return find[*corev1.ConfigMap](c, "ConfigMap", namespace, name)
}

func (c *cluster) Custom(group, kind, namespace, name string) metav1.Object {
	return c.provider.object(group, kind, namespace, name)
}

func (c *cluster) Nodes() []*corev1.Node {
	var nodes []*corev1.Node
	for _, object := range c.core {
		if node, ok := object.(*corev1.Node); ok {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// apply puts an object into the cluster as the provider's watches would.
func (c *cluster) apply(object metav1.Object, kind, group string) translation.Source {
	source := translation.Source{Kind: kind, Namespace: object.GetNamespace(), Name: object.GetName()}
	if group == "" {
		c.core[source] = object
	} else {
		source.Kind = kindOf(kind, group)
		c.custom[source] = object
		c.provider.touch(kind, group, source.Namespace, source.Name)
		return source
	}
	c.provider.memory.Touch(source)
	return source
}

// manifest applies one manifest as JSON.
func (c *cluster) manifest(text []byte) {
	c.t.Helper()
	var meta metav1.TypeMeta
	decodeStrictly(c.t, text, &meta)
	group, _, grouped := strings.Cut(meta.APIVersion, "/")
	if !grouped {
		group = ""
	}
	object := c.empty(meta.Kind)
	decodeStrictly(c.t, text, object)
	if secret, ok := object.(*corev1.Secret); ok {
		secret.Data = map[string][]byte{}
		for key, value := range secret.StringData {
			secret.Data[key] = []byte(cmp.Or(testCertificate()[value], value))
		}
	}
	c.apply(object, meta.Kind, group)
}

func decodeStrictly(t testing.TB, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
}

func (c *cluster) empty(kind string) metav1.Object {
	c.t.Helper()
	switch kind {
	case "Service":
		return &corev1.Service{}
	case "Secret":
		return &corev1.Secret{}
	case "ConfigMap":
		return &corev1.ConfigMap{}
	case "Node":
		return &corev1.Node{}
	case v1alpha1.KindIngressRoute:
		return &v1alpha1.IngressRoute{}
	case v1alpha1.KindTraefikService:
		return &v1alpha1.TraefikService{}
	case v1alpha1.KindMiddleware:
		return &v1alpha1.Middleware{}
	case v1alpha1.KindServersTransport:
		return &v1alpha1.ServersTransport{}
	case v1alpha1.KindTLSOption:
		return &v1alpha1.TLSOption{}
	case v1alpha1.KindIngressRouteTCP:
		return &v1alpha1.IngressRouteTCP{}
	}
	c.t.Fatalf("the test has no kind %q", kind)
	return nil
}

// TestGoldens translates the manifests of each file, of which the kind Options stands for the provider's options.
func TestGoldens(t *testing.T) {
	files, err := filepath.Glob("testdata/routes/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			configuration, changed := load(t, file).update()
			if !changed {
				t.Error("the first update reports no change")
			}
			got := print(t, configuration)
			golden := strings.TrimSuffix(file, ".yaml") + ".golden.json"
			if *update {
				if err := os.WriteFile(golden, got, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", golden, diff)
			}
		})
	}
	if len(files) < 10 {
		t.Errorf("%d cases, want at least 10", len(files))
	}
}

func (c *cluster) update() (*dynamic.Configuration, bool) {
	defer c.provider.translator.pairs.Forget()
	return c.provider.memory.Update(c.provider.translate)
}

// load makes a cluster of a file of manifests.
func load(t testing.TB, file string) *cluster {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var options static.KubernetesCRD
	var manifests [][]byte
	for one := range strings.SplitSeq(string(text), "\n---\n") {
		asJSON, err := yaml.YAMLToJSON([]byte(one))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		var meta metav1.TypeMeta
		decodeStrictly(t, asJSON, &meta)
		switch meta.Kind {
		case "Options":
			decodeStrictly(t, asJSON, &options)
		case "":
		default:
			manifests = append(manifests, asJSON)
		}
	}
	c := newCluster(t, options)
	for _, manifest := range manifests {
		c.manifest(manifest)
	}
	return c
}

// print shows a configuration with what its JSON leaves out: endpoint sets, certificates by name, and verdicts.
func print(t testing.TB, configuration *dynamic.Configuration) []byte {
	t.Helper()
	shown := map[string]any{"http": configuration.HTTP}
	sets := map[string]string{}
	for name, service := range configuration.HTTP.Services.All() {
		if balancer := service.LoadBalancer; balancer != nil && balancer.EndpointSet != "" {
			sets[name] = balancer.Scheme + " " + balancer.EndpointSet
		}
	}
	shown["endpointSets"] = sets
	var certificates []string
	for _, entry := range configuration.TLS.Certificates {
		certificates = append(certificates, entry.Name)
	}
	shown["certificates"] = certificates
	shown["tlsOptions"] = nil
	if configuration.TLS.Options.Len() > 0 {
		shown["tlsOptions"] = configuration.TLS.Options
	}
	if configuration.TCP.Routers.Len() > 0 {
		shown["tcp"] = configuration.TCP
	}
	var verdicts []string
	for _, verdict := range configuration.Verdicts {
		missing := ""
		if verdict.Missing {
			missing = " (missing)"
		}
		verdicts = append(verdicts, fmt.Sprintf("%s%s: %s", verdict.Status, missing, verdict))
	}
	slices.Sort(verdicts)
	shown["verdicts"] = verdicts
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(shown); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}
