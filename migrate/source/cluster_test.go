package source_test

import (
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/migrate/source"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/manifest"
	"github.com/sluiceproxy/sluice/telemetry"
)

const stored = `apiVersion: v1
kind: Namespace
metadata: {name: web, labels: {tenant: one}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: shop, namespace: web}
spec: {ingressClassName: nginx}
---
apiVersion: v1
kind: Secret
metadata: {name: users, namespace: web}
stringData: {auth: "user:secret", empty: ""}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: ingress-nginx}
data: {ssl-redirect: "false"}
---
apiVersion: v1
kind: Service
metadata: {name: shop, namespace: web}
spec: {ports: [{port: 80}]}
`

// server answers from manifests, and refuses one resource. It counts requests that do not read.
type server struct {
	next    http.RoundTripper
	refused string
	writes  int
}

// RoundTrip implements http.RoundTripper.
func (s *server) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet {
		s.writes++
	}
	if s.refused != "" && strings.HasSuffix(request.URL.Path, "/"+s.refused) {
		return &http.Response{
			StatusCode: http.StatusForbidden, Header: http.Header{}, Body: http.NoBody, Request: request,
		}, nil
	}
	return s.next.RoundTrip(request)
}

// connect returns a cluster with the objects of stored.
func connect(t *testing.T, refused string) (*client.Cluster, *server) {
	t.Helper()
	objects, faults := manifest.Read("stored.yaml", []byte(stored))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	answers := &server{next: manifest.NewServer(objects), refused: refused}
	cluster, err := client.Connect(client.Options{Transport: answers}, "kubernetes", telemetry.Discard{})
	if err != nil {
		t.Fatal(err)
	}
	return cluster, answers
}

func listed(t *testing.T, refused string) (*source.Objects, []string, error) {
	t.Helper()
	cluster, answers := connect(t, refused)
	read, missing, err := source.List(t.Context(), cluster, "")
	if answers.writes > 0 {
		t.Errorf("%d requests do not read", answers.writes)
	}
	return read, missing, err
}

func TestListReadsAsFilesAreRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "stored.yaml")
	if err := os.WriteFile(file, []byte(stored), 0o600); err != nil {
		t.Fatal(err)
	}
	want, err := source.Read(nil, file)
	if err != nil {
		t.Fatal(err)
	}
	got, missing, err := listed(t, "")
	if err != nil || len(missing) > 0 {
		t.Fatal(err, missing)
	}
	if !reflect.DeepEqual(got.Secrets, want.Secrets) || len(got.Ingresses) != 1 || got.Ingresses[0].Key() != "web/shop" ||
		len(got.Services) != 1 || got.ConfigMap("ingress-nginx", "settings").Data["ssl-redirect"] != "false" {
		t.Errorf("%+v", got)
	}
}

func TestListNamespaces(t *testing.T) {
	cluster, _ := connect(t, "")
	read, err := source.ListNamespaces(t.Context(), cluster)
	if err != nil || len(read) != 1 || read[0].Name != "web" || read[0].Labels["tenant"] != "one" {
		t.Errorf("%v, %v", read, err)
	}
	cluster, _ = connect(t, "namespaces")
	if _, err := source.ListNamespaces(t.Context(), cluster); err == nil {
		t.Error("Namespaces that may not be listed are no error")
	}
}

func TestListWithoutRights(t *testing.T) {
	got, missing, err := listed(t, "secrets")
	if err != nil || len(missing) != 1 || !strings.Contains(missing[0], "secrets") || len(got.Services) != 1 {
		t.Errorf("%v, %q", err, missing)
	}
	if _, _, err := listed(t, "ingresses"); err == nil {
		t.Error("Ingresses that may not be listed are no error")
	}
}
