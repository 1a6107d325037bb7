package inject_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sluiceproxy/sluice/inject"
)

// FuzzPod injects any pod: a panic, a patch that cannot be applied, or a second injection that changes something, is a
// failure.
func FuzzPod(f *testing.F) {
	paths, err := filepath.Glob("testdata/pods/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		encoded, err := yaml.YAMLToJSON(data)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(encoded, true)
	}
	f.Add([]byte(`{"metadata":{"annotations":{"inject.sluice.dev/status":"{\"containers\":[\"a\"],\"env\":{\"b\":[\"c\"]}}",`+
		`"inject.sluice.dev/overrides":"{\"containers\":[{\"name\":\"b\",\"image\":\"x\"}]}"}},`+
		`"spec":{"containers":[{"name":"a"},{"name":"b","env":[{"name":"c"}]}]}}`), false)
	config := parse(f, "policy: enabled\ninjectHostNetwork: true\ndefaultTemplates: [env-tag, grpc-bootstrap, sidecar]\n")
	f.Fuzz(func(t *testing.T, pod []byte, native bool) {
		in := inject.Input{Pod: pod, Namespace: "shop", NativeSidecars: native}
		result, err := config.Inject(in)
		if err != nil || result.Patch == nil {
			return
		}
		in.Pod = apply(t, pod, result.Patch)
		again, err := config.Inject(in)
		if err != nil {
			t.Fatalf("the second injection: %v", err)
		}
		if again.Patch != nil && !repeated(pod) {
			t.Fatalf("the second injection: %s", again.Patch)
		}
	})
}

// repeated reports whether names that have to be unique are not, or whether the pod says that it has been injected; an
// API server would refuse the former.
func repeated(pod []byte) bool {
	if bytes.Contains(pod, []byte("inject.sluice.dev/")) {
		return true
	}
	var object struct {
		Spec map[string]json.RawMessage
	}
	if json.Unmarshal(pod, &object) != nil {
		return true
	}
	seen := map[string]bool{}
	for _, list := range []string{"initContainers", "containers"} {
		var containers []struct {
			Name string
			Env  []struct{ Name string }
		}
		if raw, ok := object.Spec[list]; ok && json.Unmarshal(raw, &containers) != nil {
			return true
		}
		for _, container := range containers {
			if seen[container.Name] || container.Name == "" {
				return true
			}
			seen[container.Name] = true
			variables := map[string]bool{}
			for _, variable := range container.Env {
				if variables[variable.Name] || variable.Name == "" {
					return true
				}
				variables[variable.Name] = true
			}
		}
	}
	return false
}

// FuzzTemplate runs any template: it ends, within its limits.
func FuzzTemplate(f *testing.F) {
	f.Add("metadata: {labels: {a: b}}")
	f.Add("{{ range until 1000000 }}{{ toYaml $.Spec }}{{ end }}")
	f.Add("spec:\n  containers:\n  {{- range .Spec.Containers }}\n  - {{ toJSON . }}\n  {{- end }}")
	f.Add("spec: {$patch: replace, containers: [{name: app, $patch: delete}], $setElementOrder/containers: [1]}")
	f.Add("{{ $x := list 1 }}{{ range 60 }}{{ $x = list $x $x }}{{ end }}{{ toJson $x }}")
	pod := []byte(`{"metadata":{"name":"a","labels":{"a":"b"}},"spec":{"containers":[{"name":"app","image":"x"}]}}`)
	f.Fuzz(func(_ *testing.T, template string) {
		encoded, err := json.Marshal(map[string]any{
			"policy": "enabled", "defaultTemplates": []string{"x"}, "templates": map[string]string{"x": template},
		})
		if err != nil {
			return
		}
		config, err := inject.Parse(encoded, nil)
		if err != nil {
			return
		}
		_, _ = config.Inject(inject.Input{Pod: pod})
	})
}

// FuzzConfiguration compiles any configuration.
func FuzzConfiguration(f *testing.F) {
	f.Add([]byte(broken), []byte("envTag: {labels: 1}\n"))
	f.Add([]byte(decisions), []byte(`{"a": [1, 2.5, null, {"b": true}]}`))
	f.Fuzz(func(_ *testing.T, config, values []byte) { _, _ = inject.Parse(config, values) })
}

// BenchmarkInject is one pod with the sidecar, of another name each time.
func BenchmarkInject(b *testing.B) {
	config := parse(b, "policy: enabled\ndefaultTemplates: [sidecar]\n")
	data, err := os.ReadFile("testdata/pods/plain.yaml")
	if err != nil {
		b.Fatal(err)
	}
	in := input(b, string(data))
	pod := string(in.Pod)
	number := 0
	b.ReportAllocs()
	for b.Loop() {
		number++
		in.Pod = []byte(strings.Replace(pod, `"metadata":{`, fmt.Sprintf(`"metadata":{"uid":"%d",`, number), 1))
		if _, err := config.Inject(in); err != nil {
			b.Fatal(err)
		}
	}
}
