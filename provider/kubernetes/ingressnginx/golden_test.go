package ingressnginx

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"flag"
	"fmt"
	"maps"
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

// TestGolden translates testdata/NAME.yaml together with common.txt, and compares with testdata/NAME.golden.txt. The
// first line may hold options behind "# options:".
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no golden files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			content := readFile(t, file)
			cluster := newCluster()
			cluster.apply(t, readFile(t, "testdata/common.txt"))
			cluster.apply(t, content)
			got := describe(t, translated(t, cluster.provider(optionsOf(t, content))))
			golden := strings.TrimSuffix(file, ".yaml") + ".golden.txt"
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

// defaultConfig returns the options without any that is set.
func defaultConfig() static.KubernetesNGINX {
	var config static.KubernetesNGINX
	config.SetDefaults()
	return config
}

func optionsOf(t *testing.T, content []byte) static.KubernetesNGINX {
	t.Helper()
	config := defaultConfig()
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

// describe prints what a configuration says, and checks what holds for every one. Names end in hashes, which stand for
// the objects that they name.
func describe(t *testing.T, configuration *dynamic.Configuration) string {
	t.Helper()
	var out strings.Builder
	for _, name := range slices.Sorted(configuration.HTTP.Routers.Keys()) {
		router := configuration.HTTP.Routers.Get(name)
		if _, err := rule.New(router.Match); err != nil {
			t.Errorf("router %s: rule %s: %v", name, router.RuleText(), err)
		}
		if configuration.HTTP.Services.Get(router.Service) == nil {
			t.Errorf("router %s leads to the service %s, which is not there", name, router.Service)
		}
		for _, middleware := range router.Middlewares {
			if configuration.HTTP.Middlewares.Get(middleware) == nil {
				t.Errorf("router %s has the middleware %s, which is not there", name, middleware)
			}
		}
		fmt.Fprintf(&out, "router %s %v\n  %s\n", name, router.Precedence, router.RuleText())
		if len(router.Middlewares) > 0 {
			out.WriteString("  middlewares: " + strings.Join(router.Middlewares, " ") + "\n")
		}
		if router.TLS != nil && router.TLS.Options != "" {
			if configuration.TLS.Options.Get(router.TLS.Options) == nil {
				t.Errorf("router %s has the TLS options %s, which are not there", name, router.TLS.Options)
			}
			out.WriteString("  tls options: " + router.TLS.Options + "\n")
		}
		if own := router.Observability; own != nil && own.AccessLogs != nil && !*own.AccessLogs {
			out.WriteString("  access log: off\n")
		}
		out.WriteString("  service: " + router.Service + "\n")
	}
	for _, name := range slices.Sorted(configuration.HTTP.Middlewares.Keys()) {
		section(t, &out, "middleware", name, configuration.HTTP.Middlewares.Get(name))
	}
	for _, name := range slices.Sorted(configuration.HTTP.Services.Keys()) {
		service := configuration.HTTP.Services.Get(name)
		section(t, &out, "service", name, service)
		if balancer := service.LoadBalancer; balancer != nil && balancer.EndpointSet != "" {
			out.WriteString("  endpoints: " + balancer.Scheme + " " + balancer.EndpointSet + "\n")
		}
	}
	for _, name := range slices.Sorted(configuration.HTTP.ServersTransports.Keys()) {
		section(t, &out, "transport", name, configuration.HTTP.ServersTransports.Get(name))
	}
	for _, name := range slices.Sorted(configuration.TLS.Options.Keys()) {
		section(t, &out, "tls options", name, configuration.TLS.Options.Get(name))
	}
	for _, entry := range configuration.TLS.Certificates {
		out.WriteString("certificate " + entry.Name + " for " + strings.Join(entry.Hosts, ", ") + "\n")
	}
	connections(t, &out, configuration)
	for _, verdict := range configuration.Verdicts {
		line := verdict.Status.String()
		if verdict.Missing {
			line += " (missing)"
		}
		out.WriteString(line + ": " + verdict.String() + "\n")
	}
	return out.String()
}

// connections prints what is not about HTTP.
func connections(t *testing.T, out *strings.Builder, configuration *dynamic.Configuration) {
	t.Helper()
	lines := map[string]string{}
	for ref, object := range configuration.Objects() {
		var text strings.Builder
		switch made := object.(type) {
		case *dynamic.TCPRouter:
			section(t, &text, "tcp router", ref.Name, made)
		case *dynamic.TCPService:
			section(t, &text, "tcp service", ref.Name, made)
			if made.LoadBalancer.EndpointSet != "" {
				text.WriteString("  endpoints: " + made.LoadBalancer.EndpointSet + "\n")
			}
		case *dynamic.TLSStore:
			text.WriteString("store " + ref.Name + "\n")
		}
		lines[ref.String()] = text.String()
	}
	for _, ref := range slices.Sorted(maps.Keys(lines)) {
		out.WriteString(lines[ref])
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

// generate returns the data of a TLS Secret for a host.
func generate(t *testing.T, host string) map[string][]byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{host}}
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
