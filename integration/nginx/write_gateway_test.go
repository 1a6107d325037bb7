package nginx_test

import (
	"bytes"
	"context"
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
	clusters "github.com/sluiceproxy/sluice/provider/kubernetes"
	"github.com/sluiceproxy/sluice/provider/kubernetes/manifest"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/metrics"
)

// gatewayClass is what the written Gateways need.
const gatewayClass = `
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: sluice}
spec: {controllerName: sluice.dev/gateway-controller}
---
`

// ofGateways returns what kubernetesGateway and kubernetesCRD make of manifests.
func ofGateways(t *testing.T, manifests []byte) (gateways, custom *dynamic.Configuration) {
	t.Helper()
	objects, faults := manifest.Read("manifests.yaml", manifests)
	for _, fault := range faults {
		t.Error(fault)
	}
	all, err := clusters.New(clusters.Options{
		CRD:       &static.KubernetesCRD{},
		Gateway:   &static.KubernetesGateway{ControllerName: static.DefaultGatewayController},
		Manifests: manifest.NewServer(objects), Metrics: metrics.New(metrics.Options{}), Logger: telemetry.Discard{},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { all.Watch(ctx) })
	messages := make(chan dynamic.Message)
	for _, entry := range all.Entries() {
		running.Go(func() { _ = entry.Provider.Provide(ctx, messages) }) // It ends with its context.
	}
	found := map[string]*dynamic.Configuration{}
	for found["kubernetesgateway"] == nil || found["kubernetescrd"] == nil {
		select {
		case message := <-messages:
			if message.State == dynamic.StateSynced && message.Configuration != nil {
				found[message.Provider] = message.Configuration
			}
		case <-ctx.Done():
			t.Fatal("there are no configurations")
		}
	}
	return found["kubernetesgateway"], found["kubernetescrd"]
}

// TestWrittenGatewaysMeanTheSame compares the routers of hosts that get HTTPRoutes with those that the HTTPRoutes
// become.
func TestWrittenGatewaysMeanTheSame(t *testing.T) {
	folder := filepath.Join("..", "..", "provider", "kubernetes", "ingressnginx", "testdata")
	common, err := os.ReadFile(filepath.Join(folder, "common.txt"))
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, name := range []string{"headers", "limits", "cors", "tls", "upstreams", "auth"} {
		t.Run(name, func(t *testing.T) {
			content, err := os.ReadFile(filepath.Join(folder, name+".yaml"))
			if err != nil {
				t.Fatal(err)
			}
			manifests := withSecrets(t, withTLS(t, slices.Concat(content, []byte("\n---\n"), common)))
			want := ofIngresses(t, manifests)
			var out bytes.Buffer
			left, err := write.Write(&out, want, write.Gateway)
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range left {
				t.Logf("%.200s", line)
			}
			gateways, custom := ofGateways(t, slices.Concat(manifests, []byte(gatewayClass), out.Bytes()))
			for _, verdict := range gateways.Verdicts {
				if verdict.Status != dynamic.Accepted {
					t.Errorf("%s: %s", verdict.Status, verdict.String())
				}
			}
			total += compareGateways(t, want, gateways, custom)
		})
	}
	if total == 0 {
		t.Error("there is no HTTPRoute")
	}
	t.Logf("%d routers are the same", total)
}

// withTLS adds a certificate for all hosts to the Ingresses that have none.
func withTLS(t *testing.T, manifests []byte) []byte {
	t.Helper()
	documents := bytes.Split(manifests, []byte("\n---\n"))
	for i, document := range documents {
		var object struct {
			Kind string
			Spec struct{ TLS []any }
		}
		if err := yaml.Unmarshal(document, &object); err != nil {
			t.Fatal(err)
		}
		if object.Kind != "Ingress" || len(object.Spec.TLS) > 0 {
			continue
		}
		var hosts []string
		for line := range strings.Lines(string(document)) {
			if _, host, found := strings.Cut(line, "host: "); found {
				host, _, _ = strings.Cut(strings.TrimSpace(host), ",")
				hosts = append(hosts, host)
			}
		}
		documents[i] = bytes.Replace(document, []byte("\nspec:\n"),
			[]byte("\nspec:\n  tls: [{secretName: every, hosts: ["+strings.Join(hosts, ", ")+"]}]\n"), 1)
	}
	secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: every, namespace: shop}\ntype: kubernetes.io/tls\n" +
		"stringData: {generate: every.example.com}\n"
	return bytes.Join(append(documents, []byte(secret)), []byte("\n---\n"))
}

// compareGateways demands that each router of HTTPRoutes means the same as the one of an Ingress.
func compareGateways(t *testing.T, want, gateways, custom *dynamic.Configuration) (same int) {
	t.Helper()
	for name, router := range gateways.HTTP.Routers.All() {
		host := strings.Split(router.RuleText()+"``", "`")[1]
		diff := "there is no such router"
		for _, other := range want.HTTP.Routers.All() {
			if other.RuleText() != "Host(`"+host+"`) && NormalizedPathPrefix(`/`)" {
				continue
			}
			diff = cmp.Diff(meaning(t, want, other)["middlewares"], meanings{t, custom}.middlewares(local(router.Middlewares)))
			if diff == "" {
				diff = cmp.Diff(meaning(t, want, other)["service"], backendOf(t, gateways, custom, router.Service))
			}
			if diff == "" {
				break
			}
		}
		if diff != "" {
			t.Errorf("router %s %s (-ingress +written):\n%.1500s", name, router.RuleText(), diff)
			continue
		}
		same++
	}
	return same
}

// backendOf returns the service of a router of the Gateway API, which is one of kubernetesCRD.
func backendOf(t *testing.T, gateways, custom *dynamic.Configuration, name string) map[string]any {
	t.Helper()
	if service := gateways.HTTP.Services.Get(name); service != nil && service.Weighted != nil &&
		len(service.Weighted.Services) == 1 {
		name = service.Weighted.Services[0].Name
	}
	return meanings{t, custom}.service(local([]string{name})[0])
}

// local returns names without that of the provider.
func local(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i], _, _ = strings.Cut(name, "@")
	}
	return out
}
