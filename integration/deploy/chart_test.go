package deploy

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// helm runs the helm binary and returns what it wrote. The test is skipped where there is none.
func helm(t *testing.T, args ...string) (stdout string, err error) {
	t.Helper()
	tool, err := filepath.Abs("../../.cache/bin/helm")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath(tool); err != nil {
		if tool, err = exec.LookPath("helm"); err != nil {
			t.Skip("missing tool: helm is not installed")
		}
	}
	command := exec.CommandContext(t.Context(), tool, args...)
	home := t.TempDir() // Nothing of the user's own settings, and nothing left in them.
	command.Env = []string{"HOME=" + home, "HELM_CONFIG_HOME=" + home, "HELM_CACHE_HOME=" + home, "HELM_DATA_HOME=" + home}
	output, err := command.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = errors.New(strings.TrimSpace(string(exit.Stderr)))
	}
	return string(output), err
}

// try renders the chart as the release sluice in the namespace sluice.
func try(t *testing.T, values ...string) (string, error) {
	t.Helper()
	args := []string{"template", "sluice", chart, "--namespace", "sluice", "--kube-version", "1.36"}
	for _, value := range values {
		args = append(args, "--set-json", value)
	}
	return helm(t, args...)
}

func render(t *testing.T, values ...string) objects {
	t.Helper()
	output, err := try(t, values...)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, "the chart", []byte(output))
}

// ofHelm are the labels and annotations that the chart adds for helm's sake.
var ofHelm = []string{
	"app.kubernetes.io/managed-by", "app.kubernetes.io/version", "helm.sh/chart",
	"checksum/configuration",
}

// plain takes away what only helm needs, what a configuration's spelling is, and the order of ports, which means
// nothing.
func plain(t *testing.T, all objects) objects {
	t.Helper()
	for _, one := range all {
		for _, path := range [][]any{{"metadata"}, {"spec", "template", "metadata"}} {
			metadata, _ := one.at(path...).(map[string]any)
			for _, field := range []string{"labels", "annotations"} {
				entries, _ := metadata[field].(map[string]any)
				for _, name := range ofHelm {
					delete(entries, name)
				}
				if entries != nil && len(entries) == 0 {
					delete(metadata, field)
				}
			}
		}
		data, _ := one.at("data").(map[string]any)
		for name, text := range data {
			var meaning any
			if err := yaml.Unmarshal([]byte(text.(string)), &meaning); err != nil {
				t.Fatalf("%s: %s: %v", one.key(), name, err)
			}
			data[name] = meaning
		}
		for _, container := range one.list("spec", "template", "spec", "containers") {
			byName := map[string]any{}
			for _, port := range container.list("ports") {
				byName[port.text("name")] = port
			}
			container["ports"] = byName
		}
	}
	return all
}

// TestChartRendersTheManifests demands that both ways into a cluster give the same objects. The Namespace is helm's own
// affair: `helm install --create-namespace`.
func TestChartRendersTheManifests(t *testing.T) {
	tests := map[string]struct {
		folder string
		values []string
	}{
		"all namespaces": {manifests, nil},
		"one namespace":  {namespaced, []string{`namespaces=["shop"]`}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := plain(t, build(t, test.folder).without("Namespace"))
			got := plain(t, render(t, test.values...))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-deploy/kubernetes +chart)\n%s", diff)
			}
		})
	}
}

func TestChartIsClean(t *testing.T) {
	t.Parallel()
	if output, err := helm(t, "lint", "--strict", "--kube-version", "1.36", chart); err != nil {
		t.Errorf("helm lint: %v\n%s", err, output)
	}
}

// TestChartRefuses gives the chart values that make no sense; each is refused by name.
func TestChartRefuses(t *testing.T) {
	tests := map[string]struct{ value, want string }{
		"an unknown value":         {`hostPorts=true`, "hostPorts"},
		"an unknown exposure":      {`exposure="nodePort"`, "exposure"},
		"a port that is none":      {`ports.web.port=70000`, "/ports/web/port"},
		"no port for the probes":   {`ports.traefik=null`, "traefik"},
		"a namespace that is none": {`namespaces=["Shop"]`, "/namespaces/0"},
		"a surge on host ports":    {`updateStrategy={"rollingUpdate":{"maxSurge":1}}`, "maxSurge is impossible"},
		"an autoscaled DaemonSet":  {`autoscaling.enabled=true`, "workload.kind=Deployment"},
		"an unknown workload":      {`workload.kind="StatefulSet"`, "/workload/kind"},
		"an open dashboard":        {`dashboard.enabled=true`, "no protection"},
		"two budgets":              {`podDisruptionBudget={"enabled":true,"minAvailable":1,"maxUnavailable":1}`, "not both"},
		"metrics without a port":   {`metrics={"port":"prometheus","service":{"enabled":true}}`, "no port prometheus"},
		"a Service without a port": {`additionalServices={"a":{"type":"ClusterIP","ports":["traefik"]}}`, "no exposedPort"},
		"an open entrypoint":       {`hostNetwork=true`, "set ports.traefik.hostIP"},
		"xDS without protection":   {`xds.enabled=true`, "or xds.allowInsecure=true"},
		"xDS without clients":      {`xds={"enabled":true,"tlsSecret":"a"}`, "xds.clientCASecret or xds.tokenReview"},
		"a digest that is none":    {`image.digest="latest"`, "/image/digest"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := try(t, test.value); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want an error that names %s", err, test.want)
			}
		})
	}
}
