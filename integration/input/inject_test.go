package input

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

const (
	injectablePod = `apiVersion: v1
kind: Pod
metadata:
  name: a # kept
  labels: {inject.sluice.dev/inject: "true"}
spec:
  containers:
    - name: app
      image: x
`
	serviceText  = "apiVersion: v1\nkind: Service\nmetadata: {name:   web}\n"
	templateless = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n"
)

// TestInject runs the command on files: what it prints, and its exit code.
func TestInject(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"pod.yaml": injectablePod, "service.yaml": serviceText, "broken.yaml": templateless + "---\n" + injectablePod,
		"wrong.yaml": "templates:\n  x: |\n    {{ nope }}\n", "values.yaml": "sidecar: {image: own}\n",
		"config.yaml": "policy: enabled\nbuiltinTemplates: [sidecar]\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name           string
		args           []string
		code           int
		stdout, stderr []string // parts; none stands for nothing at all
	}{
		{"manifests", []string{"service.yaml", "-f", "pod.yaml"}, 0, []string{
			"apiVersion: v1\nkind: Pod\nmetadata:\n  name: a # kept", "image: sluice\n", "---\n" + serviceText, "restartPolicy: Always",
		}, nil},
		{"older clusters", []string{"pod.yaml", "--native-sidecars=false"}, 0, []string{"    - name: sluice-sidecar"}, nil},
		{
			"values",
			[]string{"pod.yaml", "--injectConfigFile=config.yaml", "--valuesFile=values.yaml"},
			0,
			[]string{"image: own\n"},
			nil,
		},
		{"no change", []string{"service.yaml"}, 0, []string{serviceText}, nil},
		{
			"diff",
			[]string{"pod.yaml", "--diff"},
			0,
			[]string{"--- pod.yaml\n+++ pod.yaml\n@@ ", "\n+      image: sluice\n"},
			nil,
		},
		{"explanation", []string{"service.yaml", "pod.yaml", "--explain"}, 0, []string{
			"service.yaml:1: Service web: unchanged: it has no pods that are injected\n",
			"pod.yaml:1: Pod a: injected [Label]: the label inject.sluice.dev/inject is true; templates: sidecar\n",
		}, nil},
		{"check", []string{"pod.yaml", "--check"}, 1, []string{"pod.yaml:1: Pod a: injected [Label]"}, nil},
		{"check without a change", []string{"service.yaml", "--check"}, 0, nil, nil},
		{
			"document that cannot be injected",
			[]string{"broken.yaml"},
			1, nil,
			[]string{"broken.yaml:1: Deployment d: there is no pod template at spec.template\n"},
		},
		{
			"broken configuration",
			[]string{"pod.yaml", "--injectConfigFile", "wrong.yaml"},
			2, nil,
			[]string{"sluice inject: wrong.yaml:3: template \"x\", line 1: calls an unknown function\n"},
		},
		{"values alone", []string{"pod.yaml", "--valuesFile", "values.yaml"}, 2, nil, []string{"needs --injectConfigFile"}},
		{"absent file", []string{"absent.yaml"}, 2, nil, []string{"absent.yaml: no such file or directory"}},
		{"no file", nil, 2, nil, []string{"sluice inject: name a file with -f, or - for standard input\n"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			result := harness.Run(t, dir, nil, append([]string{"inject"}, test.args...)...)
			if result.Code != test.code || !has(result.Stdout, test.stdout) || !has(result.Stderr, test.stderr) {
				t.Errorf("exit code %d\nstdout %s\nstderr %s", result.Code, result.Stdout, result.Stderr)
			}
		})
	}
}

// TestInjectedFileIsComplete writes a file, whose injection changes nothing.
func TestInjectedFileIsComplete(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "pod.yaml"), []byte(injectablePod), 0o600); err != nil {
		t.Fatal(err)
	}
	if result := harness.Run(t, dir, nil, "inject", "-f", "pod.yaml", "-o", "out.yaml"); result.Code != 0 ||
		result.Stdout+result.Stderr != "" {
		t.Fatalf("%+v", result)
	}
	if result := harness.Run(t, dir, nil, "inject", "out.yaml", "--check"); result.Code != 0 || result.Stdout != "" {
		t.Errorf("%+v", result)
	}
}

func has(text string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return len(parts) > 0 || text == ""
}
