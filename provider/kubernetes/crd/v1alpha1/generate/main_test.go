package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
)

// root is the repository, seen from here.
const root = "../../../../.."

// controllerGen finds the version of the tool that .ci/tools installs; another one writes other text.
func controllerGen(t *testing.T) string {
	t.Helper()
	const version = "v0.23.0"
	for _, name := range []string{filepath.Join(root, ".cache/bin/controller-gen"), "controller-gen"} {
		tool, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		output, err := exec.CommandContext(t.Context(), tool, "--version").Output()
		if err == nil && strings.Contains(string(output), version) {
			return tool
		}
	}
	t.Skip("missing tool: controller-gen " + version + " (.ci/tools installs it)")
	return ""
}

// TestGenerated demands that what is committed is what `make generate` makes of the types.
func TestGenerated(t *testing.T) {
	made, err := files(t.Context(), controllerGen(t), root)
	if err != nil {
		t.Fatal(err)
	}
	if len(made) != 1+29+1 {
		t.Errorf("made %d files: %v", len(made), slices.Sorted(maps.Keys(made)))
	}
	for name, want := range made {
		got, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Errorf("%v: run `make generate`", err)
			continue
		}
		if diff := cmp.Diff(string(got), string(want)); diff != "" {
			t.Errorf("%s is not what `make generate` makes (-is +made):\n%s", name, diff)
		}
	}
	for _, name := range committed(t) {
		if made[name] == nil {
			t.Errorf("%s is not made by `make generate`", name)
		}
	}
}

// committed lists the files in the folder of definitions, from the root.
func committed(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, pattern := range []string{"*", "*/*"} {
		found, err := filepath.Glob(filepath.Join(root, definitions, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range found {
			if stat, err := os.Stat(name); err != nil || stat.IsDir() {
				continue
			}
			relative, err := filepath.Rel(root, name)
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, relative)
		}
	}
	if len(names) == 0 {
		t.Fatal("there are no definitions")
	}
	return names
}

// TestGenerateReplaces demands that a definition goes when its kind does.
func TestGenerateReplaces(t *testing.T) {
	tool := filepath.Join(t.TempDir(), "tool")
	script := `#!/bin/sh
folder=${4#output:object:dir=}
echo 'package v1alpha1' >"$folder/` + deepCopies + `"
cat >"$folder/one.yaml" <<'END'
metadata: {name: ones.sluice.dev}
spec: {names: {plural: ones}, versions: [{name: v1alpha1}]}
END
`
	if err := os.WriteFile(tool, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	into := t.TempDir()
	for _, folder := range []string{types, definitions + "/sluice.dev"} {
		if err := os.MkdirAll(filepath.Join(into, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(into, definitions, "sluice.dev/gone.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := generate(t.Context(), tool, into); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(into, definitions, "*/*"))
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range left {
		left[i] = strings.TrimPrefix(name, filepath.Join(into, definitions)+"/")
	}
	want := []string{"sluice.dev/ones.yaml", "traefik.containo.us/ones.yaml", "traefik.io/ones.yaml"}
	if diff := cmp.Diff(want, left); diff != "" {
		t.Error(diff)
	}
}

// TestGroups demands that the definitions are of the groups that the types are registered under.
func TestGroups(t *testing.T) {
	var names []string
	for _, group := range groups() {
		names = append(names, group.name)
	}
	if diff := cmp.Diff(v1alpha1.Groups(), names); diff != "" {
		t.Error(diff)
	}
}

// TestAdapt demands that only the first group has a status, and rules that the others never had.
func TestAdapt(t *testing.T) {
	const source = `
metadata: {name: ones.sluice.dev, annotations: {tool: x}}
spec:
  group: sluice.dev
  names: {plural: ones}
  versions:
  - additionalPrinterColumns:
    - {name: Accepted, jsonPath: '.status.conditions'}
    - {name: Age, jsonPath: .metadata.creationTimestamp}
    schema:
      openAPIV3Schema:
        properties:
          apiVersion: {description: theirs}
          spec: {minProperties: 1, maxProperties: 1, properties: {a: {minProperties: 1}}}
          status: {properties: {conditions: {items: {description: theirs, properties: {type: {description: theirs}}}}}}
    subresources: {status: {}}
`
	tests := []struct {
		group                         group
		from                          string
		columns, least                int
		status, subresource, rejected bool
	}{
		{group: groups()[0], from: source, columns: 2, least: 1, status: true, subresource: true},
		{group: groups()[0], from: strings.ReplaceAll(source, "    subresources: {status: {}}\n", ""), columns: 2, least: 1},
		{group: groups()[1], from: source, columns: 1},
		{group: groups()[2], from: source, columns: 1},
		{group: groups()[0], from: "spec: {names: {plural: ones}}", rejected: true},
	}
	for i, test := range tests {
		var definition object
		if err := yaml.Unmarshal([]byte(test.from), &definition); err != nil {
			t.Fatal(err)
		}
		plural, err := adapt(definition, test.group)
		if (err != nil) != test.rejected {
			t.Errorf("%d: %v", i, err)
		}
		if test.rejected {
			continue
		}
		if name := at(definition, "metadata")["name"]; plural != "ones" || name != "ones."+test.group.name {
			t.Errorf("%d: %v, %v", i, plural, name)
		}
		version := at(definition, "spec")["versions"].([]any)[0].(object)
		properties := at(version, "schema", "openAPIV3Schema", "properties")
		spec := at(properties, "spec")
		if got := len(version["additionalPrinterColumns"].([]any)); got != test.columns {
			t.Errorf("%d: %d columns", i, got)
		}
		if got := spec["minProperties"] != nil; got != (test.least == 1) || got != (spec["maxProperties"] != nil) {
			t.Errorf("%d: %v", i, spec)
		}
		if at(spec, "properties", "a")["minProperties"] == nil {
			t.Errorf("%d: a rule within the spec went", i)
		}
		if got := properties["status"] != nil; got != test.status {
			t.Errorf("%d: status: %v", i, got)
		}
		if got := version["subresources"] != nil; got != test.subresource {
			t.Errorf("%d: subresource: %v", i, got)
		}
		if text, err := yaml.Marshal(definition); err != nil || strings.Contains(string(text), "theirs") {
			t.Errorf("%d: %s %v", i, text, err)
		}
	}
}
