package source_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/migrate/source"
)

const ingress = `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: shop, namespace: web}
spec:
  rules: [{host: shop.example.com}]
`

const secret = `apiVersion: v1
kind: Secret
metadata: {name: users}
stringData: {auth: "anna:secret-hash", empty: ""}
`

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestReadFolder(t *testing.T) {
	folder := t.TempDir()
	write(t, filepath.Join(folder, "a.yaml"), "---\n"+ingress)
	write(t, filepath.Join(folder, "below", "b.yml"), secret+"---\napiVersion: apps/v1\nkind: Deployment\n"+
		"metadata: {name: shop}\n")
	write(t, filepath.Join(folder, "c.json"), `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}}`)
	write(t, filepath.Join(folder, "read.me"), "no: object")
	write(t, filepath.Join(folder, ".git", "d.yaml"), "no: object")
	write(t, filepath.Join(folder, ".e.yaml"), "no: object")
	got, err := source.Read(nil, folder)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Faults) > 0 {
		t.Errorf("faults %v", got.Faults)
	}
	if len(got.Ingresses) != 1 || got.Ingresses[0].Key() != "web/shop" || got.Ingresses[0].Line != 2 ||
		filepath.Base(got.Ingresses[0].File) != "a.yaml" {
		t.Errorf("Ingresses %+v", got.Ingresses)
	}
	if len(got.Secrets) != 1 || got.Secrets[0].Namespace != "default" ||
		!slices.Equal(got.Secrets[0].Keys, []string{"auth"}) {
		t.Errorf("Secrets %+v", got.Secrets)
	}
	if got.ConfigMap("default", "settings") == nil || got.ConfigMap("web", "settings") != nil {
		t.Errorf("ConfigMaps %+v", got.ConfigMaps)
	}
}

func TestReadStream(t *testing.T) {
	got, err := source.Read(strings.NewReader(ingress+"---\nkind: [\n---\n"+ingress), source.Stream)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Ingresses) != 1 {
		t.Errorf("%d Ingresses, want 1", len(got.Ingresses))
	}
	if len(got.Faults) != 2 {
		t.Fatalf("faults %v, want two", got.Faults)
	}
	if text := got.Faults[0].String(); !strings.HasPrefix(text, "standard input:7: ") {
		t.Errorf("the fault of the syntax is %q", text)
	}
	want := "standard input:9: Ingress web/shop: is declared in standard input:1 already, and is read there"
	if text := got.Faults[1].String(); text != want {
		t.Errorf("the fault of the repetition is %q, want %q", text, want)
	}
}

func TestReadRefuses(t *testing.T) {
	if _, err := source.Read(nil, filepath.Join(t.TempDir(), "missing.yaml")); err == nil ||
		!strings.Contains(err.Error(), "missing.yaml") {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := source.Read(endless{}, source.Stream); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("an endless stream: %v", err)
	}
}

// endless is a stream without end.
type endless struct{}

// Read implements io.Reader.
func (endless) Read(into []byte) (int, error) { return len(into), nil }

func TestFaultsAreBounded(t *testing.T) {
	got, err := source.Read(strings.NewReader(strings.Repeat("---\nkind: [\n", source.MaxFaults+3)), source.Stream)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Faults) != source.MaxFaults || got.MoreFaults != 3 {
		t.Errorf("%d faults and %d more", len(got.Faults), got.MoreFaults)
	}
}

func TestReady(t *testing.T) {
	const slice = `apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: shop-1, namespace: web, labels: {kubernetes.io/service-name: shop}}
addressType: IPv4
endpoints: [{addresses: [198.18.0.1], conditions: {ready: READY}}]
`
	for ready, want := range map[string]bool{"true": true, "false": false, "null": true} {
		got, err := source.Read(strings.NewReader(strings.Replace(slice, "READY", ready, 1)), source.Stream)
		if err != nil {
			t.Fatal(err)
		}
		if services := got.Ready(); services["web/shop"] != want || len(services) > 1 {
			t.Errorf("ready: %s: %v", ready, services)
		}
	}
}
