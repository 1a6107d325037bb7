package inject_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/yaml"

	"github.com/sluiceproxy/sluice/inject"
)

var update = flag.Bool("update", false, "write the golden files")

func parse(t testing.TB, config string) *inject.Configuration {
	t.Helper()
	out, err := inject.Parse([]byte(config), nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// run injects a pod in YAML or JSON.
func run(t testing.TB, config *inject.Configuration, pod string) inject.Result {
	t.Helper()
	result, err := config.Inject(input(t, pod))
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func input(t testing.TB, pod string) inject.Input {
	t.Helper()
	encoded, err := yaml.YAMLToJSON([]byte(pod))
	if err != nil {
		t.Fatal(err)
	}
	return inject.Input{Pod: encoded, Namespace: "shop", NativeSidecars: true}
}

// apply applies a patch with an implementation that is not ours.
func apply(t testing.TB, pod, patch []byte) []byte {
	t.Helper()
	if patch == nil {
		return pod
	}
	decoded, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		t.Fatalf("%s: %v", patch, err)
	}
	out, err := decoded.Apply(pod)
	if err != nil {
		t.Fatalf("%s: %v", patch, err)
	}
	return out
}

// injected returns the pod after the injection, which is unchanged by another one.
func injected(t testing.TB, config *inject.Configuration, in inject.Input) ([]byte, inject.Result) {
	t.Helper()
	result, err := config.Inject(in)
	if err != nil {
		t.Fatal(err)
	}
	if result.Injected != (result.Patch != nil) {
		t.Errorf("injected: %t, patch: %s", result.Injected, result.Patch)
	}
	pod := apply(t, in.Pod, result.Patch)
	again := in
	again.Pod = pod
	second, err := config.Inject(again)
	if err != nil {
		t.Fatal(err)
	}
	if second.Patch != nil || second.Injected {
		t.Errorf("the second injection is not empty: %s", second.Patch)
	}
	want := inject.CodeUnchanged
	if result.Reason.Code == inject.CodeRemoved {
		want = inject.CodeNothing
	}
	if result.Injected && second.Reason.Code != want {
		t.Errorf("the reason of the second injection is %v", second.Reason)
	}
	return pod, result
}

// TestGolden injects each pod with each template that ships, twice.
func TestGolden(t *testing.T) {
	pods, err := filepath.Glob("testdata/pods/*.yaml")
	if err != nil || len(pods) == 0 {
		t.Fatalf("no pods: %v", err)
	}
	for name, native := range map[string]bool{
		"env-tag": true, "grpc-bootstrap": true, "sidecar": true, "sidecar-no-native": false,
		"env-tag, grpc-bootstrap, sidecar": true,
	} {
		template := strings.TrimSuffix(name, "-no-native")
		config := parse(t, fmt.Sprintf("policy: enabled\ndefaultTemplates: [%s]\n", template))
		for _, path := range pods {
			folder := strings.ReplaceAll(name, ", ", "+")
			t.Run(folder+"/"+filepath.Base(path), func(t *testing.T) {
				data, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				in := input(t, string(data))
				in.NativeSidecars = native
				pod, result := injected(t, config, in)
				golden(t, filepath.Join("testdata/injected", folder, filepath.Base(path)), pod, result)
			})
		}
	}
}

// golden compares a pod with a file, which also has what is said about the pod.
func golden(t *testing.T, path string, pod []byte, result inject.Result) {
	t.Helper()
	text, err := yaml.JSONToYAML(pod)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	fmt.Fprintf(&got, "# %s: %s\n# owner: %s %s %s\n", result.Reason.Code, result.Reason.Text, result.Owner.APIVersion,
		result.Owner.Kind, result.Owner.Name)
	for _, warning := range result.Warnings {
		fmt.Fprintf(&got, "# warning: %s\n", warning)
	}
	got.Write(text)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// TestPatchTouchesOnlyWhatIsAdded demands that numbers, nulls, empty lists and unknown fields stay as they are.
func TestPatchTouchesOnlyWhatIsAdded(t *testing.T) {
	pod := `{"metadata":{"name":"a","annotations":null},"spec":{"x":{"y":[1,2.50,1e3]},"big":9007199254740993,` +
		`"containers":[{"name":"app","image":"b","env":[]}],"nodeSelector":{}},"status":{}}`
	result := run(t, parse(t, "policy: enabled\ndefaultTemplates: [sidecar]\n"), pod)
	var operations []struct{ Op, Path string }
	if err := json.Unmarshal(result.Patch, &operations); err != nil {
		t.Fatal(err)
	}
	for _, one := range operations {
		switch one.Path {
		case "/metadata/annotations", "/spec/initContainers", "/spec/containers/0/env/0", "/spec/containers/0/env/1",
			"/spec/containers/0/env/2", "/spec/containers/0/env/3":
		default:
			t.Errorf("the patch has an operation at %s", one.Path)
		}
	}
}
