package nginx_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/migrate/write"
	kubernetes "github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx"
	"github.com/sluiceproxy/sluice/provider/kubernetes/manifest"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// provided is a provider of a cluster.
type provided interface {
	Provide(ctx context.Context, messages chan<- dynamic.Message) error
}

// configurationOf returns the first configuration that a provider makes of manifests.
func configurationOf(
	t *testing.T, manifests []byte, assemble func(*kubernetes.Cluster) (provided, error),
) *dynamic.Configuration {
	t.Helper()
	objects, faults := manifest.Read("manifests.yaml", manifests)
	for _, fault := range faults {
		t.Error(fault)
	}
	cluster, err := kubernetes.Connect(kubernetes.Options{Transport: manifest.NewServer(objects)}, "kubernetes",
		telemetry.Discard{}, v1alpha1.AddToScheme)
	if err != nil {
		t.Fatal(err)
	}
	one, err := assemble(cluster)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	messages := make(chan dynamic.Message)
	running.Go(func() { _ = cluster.Run(ctx) }) // It ends with its context.
	running.Go(func() { _ = one.Provide(ctx, messages) })
	for {
		select {
		case message := <-messages:
			if message.State == dynamic.StateSynced {
				return message.Configuration
			}
			if message.State != dynamic.StatePending {
				t.Fatalf("%s: %s", message.State, message.Reason)
			}
		case <-ctx.Done():
			t.Fatal("there is no configuration")
		}
	}
}

// withSecrets replaces the data "generate" of Secrets by a certificate for that host.
func withSecrets(t *testing.T, manifests []byte) []byte {
	t.Helper()
	for _, name := range []string{"on", "off"} { // They are names, and no booleans.
		manifests = bytes.ReplaceAll(manifests, []byte("  name: "+name+"\n"), []byte("  name: \""+name+"\"\n"))
	}
	documents := bytes.Split(manifests, []byte("\n---\n"))
	for i, document := range documents {
		var object map[string]any
		if err := yaml.Unmarshal(document, &object); err != nil {
			t.Fatal(err)
		}
		data, _ := object["stringData"].(map[string]any)
		host, _ := data["generate"].(string)
		if host == "" {
			continue
		}
		delete(data, "generate")
		certificate, key := selfSigned(t, host)
		data["tls.crt"], data["tls.key"] = certificate, key
		out, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		documents[i] = out
	}
	return bytes.Join(documents, []byte("\n---\n"))
}

func selfSigned(t *testing.T, host string) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{host}}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}))
}

// ofIngresses returns what kubernetesIngressNGINX makes of manifests.
func ofIngresses(t *testing.T, manifests []byte) *dynamic.Configuration {
	t.Helper()
	var config static.KubernetesNGINX
	config.SetDefaults()
	first, _, _ := strings.Cut(string(manifests), "\n")
	if options, given := strings.CutPrefix(first, "# options:"); given {
		if err := yaml.UnmarshalStrict([]byte(options), &config); err != nil {
			t.Fatal(err)
		}
	}
	return configurationOf(t, manifests, func(cluster *kubernetes.Cluster) (provided, error) {
		return ingressnginx.New(cluster, config, nil, nil, nil)
	})
}

// ofObjects returns what kubernetesCRD makes of manifests.
func ofObjects(t *testing.T, manifests []byte) *dynamic.Configuration {
	t.Helper()
	return configurationOf(t, manifests, func(cluster *kubernetes.Cluster) (provided, error) {
		return crd.New(static.KubernetesCRD{AllowExternalNameServices: true}, cluster, nil, nil, nil)
	})
}

// TestWrittenObjectsMeanTheSame compares the routers that Ingresses become with those that the written objects become,
// down to the options of everything that they refer to. Routes that are left are closed.
func TestWrittenObjectsMeanTheSame(t *testing.T) {
	folder := filepath.Join("..", "..", "provider", "kubernetes", "ingressnginx", "testdata")
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no manifests: %v", err)
	}
	common, err := os.ReadFile(filepath.Join(folder, "common.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var same, left int
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			manifests := withSecrets(t, slices.Concat(content, []byte("\n---\n"), common))
			want := ofIngresses(t, manifests)
			var out, again bytes.Buffer
			lines, err := write.Write(&out, want, write.IngressRoute)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := write.Write(&again, want, write.IngressRoute); err != nil || !bytes.Equal(out.Bytes(), again.Bytes()) {
				t.Errorf("the same configuration is written in two ways (%v)", err)
			}
			if bytes.Contains(out.Bytes(), []byte("PRIVATE KEY")) {
				t.Error("a private key is written")
			}
			got := ofObjects(t, slices.Concat(manifests, []byte("\n---\n"), out.Bytes()))
			equal, closed := compareRouters(t, want, got, strings.Join(lines, "\n"))
			same, left = same+equal, left+closed
			for _, line := range lines {
				t.Logf("%.200s", line)
			}
		})
	}
	t.Logf("%d routers are the same, %d are closed or left", same, left)
}

// compareRouters demands that each router has one with the same rule and TLS, which means the same, or that it is
// closed and named among what is left.
func compareRouters(t *testing.T, want, got *dynamic.Configuration, left string) (same, closed int) {
	t.Helper()
	written := map[string][]*dynamic.Router{}
	for _, router := range got.HTTP.Routers.All() {
		key := keyOf(router)
		written[key] = append(written[key], router)
	}
	chosen := map[*dynamic.Router]*dynamic.Router{}
	for _, name := range slices.Sorted(want.HTTP.Routers.Keys()) {
		router := want.HTTP.Routers.Get(name)
		if strings.Contains(left, "router "+name+" belongs to no Ingress") {
			closed++
			continue
		}
		shut := strings.Contains(left, "router "+name+" (")
		if plain, tls := strings.CutSuffix(name, ",tls"); tls && !shut {
			_, line, _ := strings.Cut(left, "router "+plain+" (")
			line, _, _ = strings.Cut(line, "\n")
			shut = strings.Contains(line, " answers 503, with TLS too: ")
		}
		without := strings.Contains(left, "service "+router.Service+" is written without") ||
			slices.ContainsFunc(router.Middlewares, func(name string) bool {
				return strings.Contains(left, "middleware "+name+" is left out")
			})
		diff := "it is not written"
		for _, other := range written[keyOf(router)] {
			switch response := got.HTTP.Services.Get(other.Service).DirectResponse; {
			case without:
				diff = ""
			case shut && response != nil && response.Status == 503 && len(other.Middlewares) == 0:
				diff = ""
			case !shut:
				diff = cmp.Diff(meaning(t, want, router), meaning(t, got, other))
			}
			if diff == "" {
				chosen[router] = other
				break
			}
		}
		switch {
		case diff != "":
			t.Errorf("router %s (-ingress +written):\n%.1500s", name, diff)
		case shut || without:
			closed++
		default:
			same++
		}
	}
	for one, first := range chosen {
		for other, second := range chosen {
			if one.RuleText() != other.RuleText() && slices.Compare(one.Precedence, other.Precedence) > 0 &&
				first.Priority <= second.Priority {
				t.Errorf("%s must come before %s", one.RuleText(), other.RuleText())
			}
		}
	}
	return same, closed
}

// keyOf returns what selects the requests of a router.
func keyOf(router *dynamic.Router) string {
	if router.TLS != nil {
		return "tls " + router.RuleText()
	}
	return router.RuleText()
}

// meaning returns a router with everything that it refers to in place of the names.
func meaning(t *testing.T, configuration *dynamic.Configuration, router *dynamic.Router) map[string]any {
	t.Helper()
	m := meanings{t, configuration}
	out := map[string]any{
		"middlewares": m.middlewares(router.Middlewares), "service": m.service(router.Service),
		"entryPoints": router.EntryPoints,
	}
	if given := router.Observability; given != nil {
		for option, value := range map[string]*bool{
			"accessLogs": given.AccessLogs, "metrics": given.Metrics, "tracing": given.Tracing,
		} {
			if value != nil {
				out[option] = *value
			}
		}
		if given.TraceVerbosity != "" {
			out["traceVerbosity"] = given.TraceVerbosity
		}
	}
	if router.TLS != nil {
		out["tls"] = nil
		if router.TLS.Options != "" {
			out["tls"] = tree(t, configuration.TLS.Options.Get(router.TLS.Options))
		}
	}
	return out
}

// meanings reads one configuration.
type meanings struct {
	t             *testing.T
	configuration *dynamic.Configuration
}

func (m meanings) middlewares(names []string) []any {
	list := []any{}
	for _, name := range names {
		middleware := m.configuration.HTTP.Middlewares.Get(name)
		out := tree(m.t, middleware)
		if middleware == nil {
			m.t.Errorf("the middleware %s is missing", name)
			continue
		}
		if middleware.SatisfyAny != nil {
			out["satisfyAny"] = m.middlewares(middleware.SatisfyAny.Middlewares)
		}
		if middleware.Chain != nil {
			out["chain"] = m.middlewares(middleware.Chain.Middlewares)
		}
		if middleware.Errors != nil {
			out["errors"].(map[string]any)["service"] = m.service(middleware.Errors.Service)
		}
		list = append(list, out)
	}
	return list
}

// service returns a service with what it refers to. One service behind nothing but middlewares is that service with
// them.
func (m meanings) service(name string) map[string]any {
	service := m.configuration.HTTP.Services.Get(name)
	if service == nil {
		return map[string]any{"missing": name}
	}
	if one := service.Weighted; one != nil && len(one.Services) == 1 && one.Sticky == nil {
		inner := m.service(one.Services[0].Name)
		own, _ := inner["middlewares"].([]any)
		inner["middlewares"] = append(m.middlewares(service.Middlewares), own...)
		return inner
	}
	out := tree(m.t, service)
	out["middlewares"] = m.middlewares(service.Middlewares)
	switch {
	case service.LoadBalancer != nil:
		balancer := out["loadBalancer"].(map[string]any)
		balancer["endpoints"], balancer["scheme"] = service.LoadBalancer.EndpointSet, service.LoadBalancer.Scheme
		if transport := service.LoadBalancer.ServersTransport; transport != "" {
			balancer["serversTransport"] = tree(m.t, m.configuration.HTTP.ServersTransports.Get(transport))
		}
	case service.Canary != nil:
		canary := out["canary"].(map[string]any)
		canary["service"], canary["canary"] = m.service(service.Canary.Service), m.service(service.Canary.Canary)
	case service.Failover != nil:
		failover := out["failover"].(map[string]any)
		failover["service"], failover["fallback"] = m.service(service.Failover.Service), m.service(service.Failover.Fallback)
	}
	return out
}

// tree returns an object as a document.
func tree(t *testing.T, object any) map[string]any {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}
