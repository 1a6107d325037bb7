package deploy

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/static"
)

// both runs a test on what either folder holds.
func both(t *testing.T, test func(*testing.T, objects)) {
	t.Helper()
	for name, folder := range map[string]string{"all namespaces": manifests, "one namespace": namespaced} {
		t.Run(name, func(t *testing.T) { test(t, build(t, folder)) })
	}
}

// TestThePodHasNoPrivileges checks the Pod Security Standard "restricted", except for the ports of the node, and a
// read-only root file system.
func TestThePodHasNoPrivileges(t *testing.T) {
	both(t, func(t *testing.T, all objects) {
		p := pod(t, all)
		container := p.list("containers")[0]
		wants := map[string]struct{ got, want any }{
			"user":                     {p.at("securityContext", "runAsUser"), 65532},
			"group":                    {p.at("securityContext", "runAsGroup"), 65532},
			"runAsNonRoot":             {p.at("securityContext", "runAsNonRoot"), true},
			"seccompProfile":           {p.at("securityContext", "seccompProfile", "type"), "RuntimeDefault"},
			"hostNetwork":              {p.at("hostNetwork"), nil},
			"hostPID":                  {p.at("hostPID"), nil},
			"hostIPC":                  {p.at("hostIPC"), nil},
			"enableServiceLinks":       {p.at("enableServiceLinks"), false},
			"capabilities":             {container.at("securityContext", "capabilities"), map[string]any{"drop": []any{"ALL"}}},
			"allowPrivilegeEscalation": {container.at("securityContext", "allowPrivilegeEscalation"), false},
			"readOnlyRootFilesystem":   {container.at("securityContext", "readOnlyRootFilesystem"), true},
			"privileged":               {container.at("securityContext", "privileged"), false},
			"environment": {fields(container), map[string]string{
				"POD_NAMESPACE": "metadata.namespace", "NODE_NAME": "spec.nodeName",
			}},
			"volumes":                 {len(p.list("volumes")), 2},
			"a ConfigMap as a volume": {p.at("volumes", 0, "configMap", "name"), "sluice"},
			"where files can be":      {p.at("volumes", 1), map[string]any{"name": "temporary", "emptyDir": map[string]any{}}},
			"mounts": {container.at("volumeMounts"), []any{
				map[string]any{"name": "configuration", "mountPath": "/etc/sluice", "readOnly": true},
				map[string]any{"name": "temporary", "mountPath": "/tmp"},
			}},
			"the account's token":  {all.the(t, "ServiceAccount").at("automountServiceAccountToken"), false},
			"containers":           {len(p.list("containers")), 1},
			"containers before it": {p.at("initContainers"), nil},
		}
		for name, want := range wants {
			if diff := cmp.Diff(want.want, want.got); diff != "" {
				t.Errorf("%s (-want +got)\n%s", name, diff)
			}
		}
	})
}

// fields returns the variables of a container with the fields of the pod that they are set from.
func fields(container object) map[string]string {
	found := map[string]string{}
	for _, variable := range container.list("env") {
		found[variable.text("name")] = variable.text("valueFrom", "fieldRef", "fieldPath")
	}
	return found
}

// TestLifeCycleFits compares the times of the pod with those of the configuration, and its ports with the entrypoints.
func TestLifeCycleFits(t *testing.T) {
	both(t, func(t *testing.T, all objects) {
		p := pod(t, all)
		container := p.list("containers")[0]
		grace, _ := p.at("terminationGracePeriodSeconds").(int)
		if container.at("lifecycle") != nil {
			t.Error("the container has a hook, but Sluice drains by itself")
		}
		listening := map[string]any{}
		for _, port := range container.list("ports") {
			listening[port.text("name")] = port.at("containerPort")
		}
		loaded := load(t, all)
		if len(listening) != len(loaded.EntryPoints) {
			t.Errorf("ports of the pod: %v", listening)
		}
		for name, entryPoint := range loaded.EntryPoints {
			cycle := entryPoint.Transport.LifeCycle
			ends := time.Duration(cycle.RequestAcceptGraceTimeout) + time.Duration(cycle.GraceTimeOut)
			if limit := time.Duration(grace) * time.Second; ends >= limit {
				t.Errorf("entrypoint %s may take %v to end, and the pod is killed after %v", name, ends, limit)
			}
			address, err := entryPoint.ListenAddress()
			if err != nil {
				t.Fatal(err)
			}
			if listening[name] != int(address.Port) {
				t.Errorf("entrypoint %s listens on port %d, and the pod names %v", name, address.Port, listening[name])
			}
		}
		for probe, path := range map[string]string{"readinessProbe": "/ready", "livenessProbe": "/ping"} {
			if container.text(probe, "httpGet", "path") != path || container.text(probe, "httpGet",
				"port") != loaded.Ping.EntryPoint {
				t.Errorf("%s requests %v", probe, container.at(probe))
			}
		}
		period, _ := container.at("readinessProbe", "periodSeconds").(int)
		failures, _ := container.at("readinessProbe", "failureThreshold").(int)
		accept := time.Duration(loaded.EntryPoints["web"].Transport.LifeCycle.RequestAcceptGraceTimeout)
		if noticed := time.Duration(period*failures) * time.Second; noticed >= accept {
			t.Errorf("that it drains is noticed after %v, and new connections are served for %v", noticed, accept)
		}
		if surge := all.the(t, "DaemonSet").at("spec", "updateStrategy", "rollingUpdate", "maxSurge"); surge != 0 {
			t.Errorf("maxSurge is %v, which cannot be with ports of the node", surge)
		}
	})
}

// load reads the static configuration of a ConfigMap. A finding of any kind is a failure.
func load(t *testing.T, all objects) *static.Configuration {
	t.Helper()
	file := filepath.Join(t.TempDir(), "sluice.yaml")
	if err := os.WriteFile(file, []byte(all.the(t, "ConfigMap").text("data", "sluice.yaml")), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, findings := static.Load(static.Sources{ConfigFile: file})
	for _, finding := range findings {
		t.Errorf("the ConfigMap: %s: %s", finding.Severity, finding)
	}
	if t.Failed() {
		t.FailNow()
	}
	return loaded.Configuration
}

// TestKustomizationsNameEveryFile demands that a file which lies in a folder of manifests is applied with it.
func TestKustomizationsNameEveryFile(t *testing.T) {
	var checked int
	for _, base := range []string{manifests, examples} {
		err := filepath.WalkDir(base, func(file string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return err
			}
			checked++
			named := readYAML(t, filepath.Join(file, "kustomization.yaml")).words("resources")
			present, err := filepath.Glob(filepath.Join(file, "*.yaml"))
			if err != nil {
				return err
			}
			for _, present := range present {
				if name := filepath.Base(present); name != "kustomization.yaml" && !slices.Contains(named, name) {
					t.Errorf("%s is not applied", present)
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if checked < 4 {
		t.Errorf("only %d folders were found", checked)
	}
}

// TestChartCarriesTheCRDs demands that the chart holds the generated CRDs, byte by byte; `make generate` copies them.
func TestChartCarriesTheCRDs(t *testing.T) {
	want, got := texts(t, crds), texts(t, filepath.Join(chart, "crds"))
	if len(want) == 0 {
		t.Fatal("there are no CRDs")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("make generate copies the CRDs (-deploy/crds +chart)\n%s", diff)
	}
	shown, err := helm(t, "show", "crds", chart)
	if err != nil {
		t.Fatal(err)
	}
	if documents := len(parse(t, "helm show crds", []byte(shown))); documents != len(want) {
		t.Errorf("helm shows %d CRDs of %d", documents, len(want))
	}
}

// texts reads the YAML files below a folder, but for kustomizations.
func texts(t *testing.T, folder string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(file) == ".yaml" && entry.Name() != "kustomization.yaml" {
			name, _ := filepath.Rel(folder, file)
			found[name] = string(read(t, file))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return found
}
