package input

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// xdsStatic publishes over xDS, with tokens that only a cluster can check.
const xdsStatic = `
entryPoints: {web: {address: ":8000"}}
providers: {file: {filename: services.yaml}}
xds: {tokenReview: {}}
`

// xdsServices has a service that gRPC clients would call without its middlewares.
const xdsServices = `http:
  middlewares:
    auth: {basicAuth: {users: ["a:$apr1$ZYhJ3nS8$V0vUEwXOMNPFjbV/WXyRj0"]}}
  services:
    fine: {loadBalancer: {servers: [{url: "http://192.0.2.1"}]}}
    guarded:
      middlewares: [auth]
      loadBalancer: {servers: [{url: "http://192.0.2.1"}]}
`

// xdsManifests has a service that does not get the host of its clients, and one that refers to it.
const xdsManifests = `apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {ports: [{port: 80}]}
---
apiVersion: traefik.io/v1alpha1
kind: TraefikService
metadata: {name: renamed, namespace: shop}
spec: {weighted: {services: [{name: web, port: 80, passHostHeader: false}]}}
`

// place is where a finding is, and what it is about.
type place struct {
	Severity, File, Kind, Code string
	Line                       int
}

// TestCheckNamesWhatIsNotPublished wants warnings on services that xDS clients would not get, and only with xDS.
// Neither the tokens nor the manifests need a cluster.
func TestCheckNamesWhatIsNotPublished(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"static.yaml": xdsStatic, "services.yaml": xdsServices, "manifests.yaml": xdsManifests,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := place{"warning", "services.yaml", "service", "NotPublished", 6}
	manifest := place{"warning", "manifests.yaml", "service", "NotPublished", 6}
	for _, test := range []struct {
		args []string
		want []place
	}{
		{[]string{"--configFile=static.yaml"}, []place{file}},
		{[]string{"--configFile=static.yaml", "--offline"}, []place{file}},
		{[]string{"static.yaml", "services.yaml"}, []place{file}},
		{[]string{"static.yaml", "manifests.yaml"}, []place{manifest, manifest, file}},
		{[]string{"services.yaml"}, nil},
	} {
		result := harness.Run(t, dir, nil, append([]string{"check", "--json"}, test.args...)...)
		var report struct {
			Valid    bool
			Findings []place
		}
		if err := json.Unmarshal([]byte(result.Stdout), &report); err != nil || result.Code != 0 || !report.Valid {
			t.Errorf("%q: exit code %d, %v: %s%s", test.args, result.Code, err, result.Stdout, result.Stderr)
		}
		if diff := cmp.Diff(append([]place{}, test.want...), report.Findings); diff != "" {
			t.Errorf("%q (-want +got):\n%s%s", test.args, diff, result.Stdout)
		}
	}
}
