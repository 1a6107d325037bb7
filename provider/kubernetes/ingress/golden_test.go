package ingress

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"flag"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/router/rule"
	"github.com/sluiceproxy/sluice/static"
)

var update = flag.Bool("update", false, "write the golden files of testdata instead of comparing with them")

// TestGolden translates testdata/NAME.yaml, whose first line may hold options behind "# options:", and compares with
// testdata/NAME.golden.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no golden files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			content := readFile(t, file)
			cluster := newCluster()
			cluster.apply(t, content)
			got := describe(t, translated(t, cluster.provider(optionsOf(t, content))))
			golden := strings.TrimSuffix(file, ".yaml") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(readFile(t, golden)), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func optionsOf(t *testing.T, content []byte) static.KubernetesIngress {
	t.Helper()
	var config static.KubernetesIngress
	first, _, _ := strings.Cut(string(content), "\n")
	if options, given := strings.CutPrefix(first, "# options:"); given {
		if err := yaml.UnmarshalStrict([]byte(options), &config); err != nil {
			t.Fatal(err)
		}
	}
	return config
}

// translated returns the first configuration of a provider.
func translated(t *testing.T, p *Provider) *dynamic.Configuration {
	t.Helper()
	configuration, changed := p.update()
	if !changed {
		t.Fatal("the first update reports no change")
	}
	return configuration
}

// describe prints what a configuration says, and checks what holds for every one.
func describe(t *testing.T, configuration *dynamic.Configuration) string {
	t.Helper()
	var out strings.Builder
	for _, name := range slices.Sorted(configuration.HTTP.Routers.Keys()) {
		router := configuration.HTTP.Routers.Get(name)
		checkRule(t, name, router)
		if router.Service != "" && configuration.HTTP.Services.Get(router.Service) == nil {
			t.Errorf("router %s leads to the service %s, which is not there", name, router.Service)
		}
		describeRouter(t, &out, name, *router)
	}
	for _, name := range slices.Sorted(configuration.HTTP.Services.Keys()) {
		service := configuration.HTTP.Services.Get(name)
		section(t, &out, "service", name, service)
		if set := service.LoadBalancer.EndpointSet; set != "" {
			out.WriteString("  endpoints: " + service.LoadBalancer.Scheme + " " + set + "\n")
		}
	}
	for _, entry := range configuration.TLS.Certificates {
		out.WriteString("certificate " + entry.Name + "\n")
	}
	for _, verdict := range configuration.Verdicts {
		line := verdict.Status.String()
		if verdict.Missing {
			line += " (missing)"
		}
		out.WriteString(line + ": " + verdict.String() + "\n")
	}
	return out.String()
}

// describeRouter prints a router, and what it is made of in one line.
func describeRouter(t *testing.T, out *strings.Builder, name string, router dynamic.Router) {
	t.Helper()
	declared := *router.Observability
	made := declared.Metadata.Ingress
	if declared.Metadata, router.Observability = nil, &declared; declared == (dynamic.RouterObservability{}) {
		router.Observability = nil
	}
	section(t, out, "router", name, router)
	out.WriteString("  made of: " + made.Namespace + "/" + made.IngressName + ", leads to: " + made.ServiceName + ":" +
		made.ServicePort + "\n")
}

// checkRule checks that a rule can be parsed. What is wrong within a regular expression, the compiler says.
func checkRule(t *testing.T, name string, router *dynamic.Router) {
	t.Helper()
	if router.Rule == "" || router.RuleSyntax != "v3" {
		return
	}
	if _, err := rule.Parse(router.Rule); err != nil && !strings.Contains(err.Error(), "regular expression") {
		t.Errorf("router %s: rule %s: %v", name, router.Rule, err)
	}
}

func section(t *testing.T, out *strings.Builder, kind, name string, object any) {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := yaml.JSONToYAML(text)
	if err != nil {
		t.Fatal(err)
	}
	out.WriteString(kind + " " + name + "\n")
	for line := range strings.Lines(string(lines)) {
		out.WriteString("  " + line)
	}
}

// generate returns the data of a TLS Secret.
func generate(t *testing.T) map[string][]byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"shop.example.com"}}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{
		corev1.TLSCertKey:       pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
		corev1.TLSPrivateKeyKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}
}
