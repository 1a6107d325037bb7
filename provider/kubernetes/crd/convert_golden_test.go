package crd

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
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
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
	"github.com/sluiceproxy/sluice/static"
)

// manifestSet is a cluster made of a file of manifests.
type manifestSet struct {
	services   map[string]*corev1.Service
	secrets    map[string]*corev1.Secret
	configMaps map[string]*corev1.ConfigMap
	options    static.KubernetesCRD
	custom     []metav1.TypeMeta
	texts      [][]byte
}

func (m *manifestSet) Service(namespace, name string) *corev1.Service {
	return m.services[namespace+"/"+name]
}

func (m *manifestSet) Secret(namespace, name string) *corev1.Secret {
	return m.secrets[namespace+"/"+name]
}
func (m *manifestSet) Nodes() []*corev1.Node                               { return nil }
func (m *manifestSet) Custom(string, string, string, string) metav1.Object { return nil }
func (m *manifestSet) ConfigMap(namespace, name string) *corev1.ConfigMap {
	return m.configMaps[namespace+"/"+name]
}

func newManifestSet() *manifestSet {
	return &manifestSet{
		services: map[string]*corev1.Service{}, secrets: map[string]*corev1.Secret{},
		configMaps: map[string]*corev1.ConfigMap{},
	}
}

// readManifests reads a file of manifests. The kind Options stands for the provider's options, and words like $CERT in
// a Secret or ConfigMap for what has been issued.
func readManifests(t testing.TB, file string, issued map[string]string) *manifestSet {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	set := newManifestSet()
	for one := range strings.SplitSeq(string(text), "\n---\n") {
		asJSON, err := yaml.YAMLToJSON([]byte(one))
		if err != nil {
			t.Fatalf("%s: %v\n%s", file, err, one)
		}
		set.add(t, asJSON, issued)
	}
	return set
}

func (m *manifestSet) add(t testing.TB, text []byte, issued map[string]string) {
	t.Helper()
	switch meta := read[metav1.TypeMeta](t, text); meta.Kind {
	case "":
	case "Options":
		m.options = *read[static.KubernetesCRD](t, text)
	case "Service":
		service := read[corev1.Service](t, text)
		m.services[service.Namespace+"/"+service.Name] = service
	case "Secret":
		secret := read[corev1.Secret](t, text)
		secret.Data = map[string][]byte{}
		for key, value := range secret.StringData {
			secret.Data[key] = []byte(cmp.Or(issued[value], value))
		}
		m.secrets[secret.Namespace+"/"+secret.Name] = secret
	case "ConfigMap":
		configMap := read[corev1.ConfigMap](t, text)
		for key, value := range configMap.Data {
			configMap.Data[key] = cmp.Or(issued[value], value)
		}
		m.configMaps[configMap.Namespace+"/"+configMap.Name] = configMap
	default:
		m.custom = append(m.custom, *meta)
		m.texts = append(m.texts, text)
	}
}

func read[T any](t testing.TB, text []byte) *T {
	t.Helper()
	object := new(T)
	if err := json.Unmarshal(text, object); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return object
}

// convert translates the object with that place among the custom resources.
func (m *manifestSet) convert(t testing.TB, place int) translation.Result {
	t.Helper()
	translator := &translator{options: m.options, source: "kubernetes", objects: m}
	text, meta := m.texts[place], m.custom[place]
	named := read[metav1.PartialObjectMetadata](t, text)
	group, _, _ := strings.Cut(meta.APIVersion, "/")
	source := translation.Source{Kind: kindOf(meta.Kind, group), Namespace: named.Namespace, Name: named.Name}
	var object metav1.Object
	switch meta.Kind {
	case v1alpha1.KindMiddleware:
		object = read[v1alpha1.Middleware](t, text)
	case v1alpha1.KindServersTransport:
		object = read[v1alpha1.ServersTransport](t, text)
	case v1alpha1.KindTLSOption:
		object = read[v1alpha1.TLSOption](t, text)
	case v1alpha1.KindTLSStore:
		object = read[v1alpha1.TLSStore](t, text)
	case v1alpha1.KindIngressRouteTCP:
		object = read[v1alpha1.IngressRouteTCP](t, text)
	case v1alpha1.KindIngressRouteUDP:
		object = read[v1alpha1.IngressRouteUDP](t, text)
	case v1alpha1.KindMiddlewareTCP:
		object = read[v1alpha1.MiddlewareTCP](t, text)
	case v1alpha1.KindServersTransportTCP:
		object = read[v1alpha1.ServersTransportTCP](t, text)
	default:
		t.Fatalf("the kind %s is not converted here", meta.Kind)
	}
	result, ok := translator.result(source, object)
	if !ok {
		t.Fatalf("%s is not translated", source)
	}
	return result
}

// TestConversionGoldens translates every manifest below testdata/middleware, transport, tls, tcp and udp, and compares
// its declarations, needs and verdicts with the golden beside it.
func TestConversionGoldens(t *testing.T) {
	issued := testCertificate()
	for _, folder := range []string{"middleware", "transport", "tls", "tcp", "udp"} {
		files, err := filepath.Glob(filepath.Join("testdata", folder, "*.yaml"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no manifests in %s: %v", folder, err)
		}
		for _, file := range files {
			t.Run(folder+"/"+filepath.Base(file), func(t *testing.T) {
				set := readManifests(t, file, issued)
				var out strings.Builder
				for place := range set.custom {
					result := set.convert(t, place)
					set.keepsSecrets(t, result)
					describe(t, &out, result)
				}
				compareGolden(t, file+".golden", shorten(out.String(), issued))
			})
		}
	}
}

// keepsSecrets fails when a line of a Secret stands in a verdict.
func (m *manifestSet) keepsSecrets(t *testing.T, result translation.Result) {
	t.Helper()
	for _, verdict := range result.Verdicts {
		for _, secret := range m.secrets {
			for _, content := range secret.Data {
				for line := range strings.Lines(string(content)) {
					if line = strings.TrimSpace(line); len(line) > 6 && strings.Contains(verdict.Reason, line) {
						t.Errorf("the verdict %q holds a line of Secret %s", verdict.Reason, secret.Name)
					}
				}
			}
		}
	}
}

// describe writes a result for a golden.
func describe(t *testing.T, out *strings.Builder, result translation.Result) {
	t.Helper()
	fmt.Fprintf(out, "# %s of %s\n", result.Origin.Object, result.Origin.Resource.APIVersion)
	needs := slices.Compact(slices.SortedFunc(slices.Values(result.Needs), translation.Source.Compare))
	for _, need := range needs {
		fmt.Fprintf(out, "needs %s\n", need)
	}
	for _, verdict := range result.Verdicts {
		missing := ""
		if verdict.Missing {
			missing = " (missing)"
		}
		fmt.Fprintf(out, "%s%s %s\n", verdict.Status, missing, verdict)
	}
	builder := dynamic.NewBuilder(&dynamic.Configuration{
		HTTP: &dynamic.HTTPConfiguration{}, TLS: &dynamic.TLSConfiguration{},
	})
	var certificates []*dynamic.CertificateEntry
	for _, ref := range slices.SortedFunc(maps.Keys(result.Objects), compareRefs) {
		object := result.Objects[ref]
		switch typed := object.(type) {
		case *dynamic.CertificateEntry:
			certificates = append(certificates, typed)
		case *dynamic.Router: // They are in another golden file.
		default:
			builder.Put(ref, object)
		}
	}
	for _, ref := range slices.SortedFunc(maps.Keys(result.Objects), compareRefs) {
		if endpoints := endpointsOf(result.Objects[ref]); endpoints != "" {
			fmt.Fprintf(out, "%s %s: endpoints %s\n", ref.Kind, ref.Name, endpoints)
		}
	}
	for _, certificate := range certificates {
		fmt.Fprintf(out, "certificate %s\n", certificate.Name)
	}
	configuration := builder.Configuration()
	configuration.TLS.Certificates = certificates
	pretty, err := json.MarshalIndent(configuration, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	out.Write(pretty)
	out.WriteString("\n\n")
}

func compareRefs(a, b dynamic.Ref) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
}

// endpointsOf returns the endpoint set of a load balancer and how it is spoken to; empty for everything else.
func endpointsOf(object any) string {
	switch service := object.(type) {
	case *dynamic.Service:
		if balancer := service.LoadBalancer; balancer != nil && balancer.EndpointSet != "" {
			return balancer.EndpointSet + " by " + balancer.Scheme
		}
	case *dynamic.TCPService:
		if balancer := service.LoadBalancer; balancer != nil && balancer.EndpointSet != "" {
			return fmt.Sprintf("%s, TLS: %t", balancer.EndpointSet, balancer.TLS)
		}
	case *dynamic.UDPService:
		if balancer := service.LoadBalancer; balancer != nil {
			return balancer.EndpointSet
		}
	}
	return ""
}

// shorten puts the words back that stand for what was issued.
func shorten(text string, issued map[string]string) string {
	for word, content := range issued {
		quoted, err := json.Marshal(content)
		if err != nil {
			panic(err)
		}
		text = strings.ReplaceAll(text, string(bytes.Trim(quoted, `"`)), word)
	}
	return text
}

func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", name, diff)
	}
}
