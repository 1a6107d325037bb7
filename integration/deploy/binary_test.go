package deploy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// TestTheBinaryTakesTheConfiguration passes the static configuration of each way of installing to the binary, which
// fails before it looks for a running Sluice if an option is wrong.
func TestTheBinaryTakesTheConfiguration(t *testing.T) {
	tests := map[string]func(*testing.T) objects{
		"manifests, all namespaces": func(t *testing.T) objects { return build(t, manifests) },
		"manifests, one namespace":  func(t *testing.T) objects { return build(t, namespaced) },
		"chart":                     func(t *testing.T) objects { return render(t) },
		"chart behind a Service": func(t *testing.T) objects {
			return render(t, `exposure="service"`, `namespaces=["shop","blog"]`)
		},
	}
	for name, all := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := all(t)
			file := filepath.Join(t.TempDir(), "sluice.yaml")
			if err := os.WriteFile(file, []byte(config.the(t, "ConfigMap").text("data", "sluice.yaml")), 0o600); err != nil {
				t.Fatal(err)
			}
			result := harness.Run(t, t.TempDir(), nil, "healthcheck", "--configFile="+file)
			if said := result.Stdout + result.Stderr; strings.HasPrefix(said, "sluice healthcheck:") ||
				!strings.Contains(said, ":8080/ready") {
				t.Errorf("exit code %d: %s", result.Code, said)
			}
			load(t, config)
		})
	}
}

// TestTheExampleRunsTheBinary demands that the endpoints of the example are started as the binary is.
func TestTheExampleRunsTheBinary(t *testing.T) {
	all := build(t, examples)
	container := all.the(t, "Deployment").list("spec", "template", "spec", "containers")[0]
	if diff := cmp.Diff([]string{"whoami", "--address=:8080", "--name=$(POD_NAME)"}, container.words("args")); diff != "" {
		t.Errorf("arguments (-want +got)\n%s", diff)
	}
	usage := harness.Run(t, t.TempDir(), nil, "whoami", "--help")
	for _, flag := range []string{"-address", "-name"} {
		if !strings.Contains(usage.Stdout+usage.Stderr, flag) {
			t.Errorf("whoami has no flag %s:\n%s%s", flag, usage.Stdout, usage.Stderr)
		}
	}
	if want, got := all.the(t, "Service").at("metadata", "name"), all.the(t, "IngressRoute").at("spec", "routes", 0,
		"services", 0, "name"); want != got {
		t.Errorf("the route leads to %v, and the Service is %v", got, want)
	}
	if want, got := all.the(t, "Middleware").at("metadata", "name"), all.the(t, "IngressRoute").at("spec", "routes", 0,
		"middlewares", 0, "name"); want != got {
		t.Errorf("the route uses the middleware %v, and there is %v", got, want)
	}
}
