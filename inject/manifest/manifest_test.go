package manifest_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/inject"
	"github.com/sluiceproxy/sluice/inject/manifest"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func configuration(t testing.TB) *inject.Configuration {
	t.Helper()
	out, err := inject.Parse([]byte("policy: enabled\ndefaultTemplates: [env-tag]\n"),
		[]byte("envTag: {labels: [virtual-env, inject.sluice.dev/inject], containers: [app, a]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestGolden injects files, and the results once more.
func TestGolden(t *testing.T) {
	paths, err := filepath.Glob("testdata/in/*")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files: %v", err)
	}
	config := configuration(t)
	options := manifest.Options{Namespace: "shop", NativeSidecars: true}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			out, outcomes := manifest.Inject(config, filepath.Base(path), data, options)
			golden(t, filepath.Join("testdata/out", filepath.Base(path)), out)
			golden(t, filepath.Join("testdata/out", filepath.Base(path)+".txt"), report(outcomes))
			again, outcomes := manifest.Inject(config, "x", out, options)
			if !bytes.Equal(again, out) {
				t.Errorf("the second injection changes the file:\n%s", cmp.Diff(string(out), string(again)))
			}
			for _, one := range outcomes {
				if one.Result.Injected {
					t.Errorf("%s is injected twice: %s", one.Object, one.Result.Patch)
				}
			}
		})
	}
}

// report returns a line for each outcome.
func report(outcomes []manifest.Outcome) []byte {
	var out bytes.Buffer
	for _, one := range outcomes {
		fmt.Fprintf(&out, "%s:%d: %s: ", one.File, one.Line, one.Object)
		switch {
		case one.Err != nil:
			fmt.Fprintf(&out, "error: %v\n", one.Err)
		case !one.Workload:
			out.WriteString("no workload\n")
		default:
			fmt.Fprintf(&out, "%s, %s %s\n", one.Result.Reason.Code, one.Result.Owner.Kind, one.Result.Owner.Name)
		}
	}
	return out.Bytes()
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// TestOnlyChangesAreWritten demands that every line of a file in block style is in the result, but for those that
// change.
func TestOnlyChangesAreWritten(t *testing.T) {
	data, err := os.ReadFile("testdata/in/styles.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"as it is": string(data), "carriage returns": strings.ReplaceAll(string(data), "\n", "\r\n"),
		"no end": strings.TrimRight(string(data), "\n"),
	} {
		t.Run(name, func(t *testing.T) {
			out, outcomes := manifest.Inject(configuration(t), "x", []byte(text), manifest.Options{})
			if len(outcomes) != 2 || !outcomes[0].Result.Injected || outcomes[0].Err != nil {
				t.Fatalf("%+v", outcomes)
			}
			rest := string(out)
			for line := range strings.Lines(text) {
				_, after, found := strings.Cut(rest, line)
				switch {
				case found:
					rest = after
				case strings.Contains(line, "annotations:"), strings.Contains(line, "value: old"):
				default:
					t.Errorf("the line %q is gone, or is not in its place", line)
				}
			}
		})
	}
}

// TestUnchangedTextIsIdentical injects nothing into texts of any form.
func TestUnchangedTextIsIdentical(t *testing.T) {
	config, err := inject.Default()
	if err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob("testdata/in/*")
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{"", "\n", "---\n", "a", "\ufeffkind: Pod\r\n", "- 1\n- 2\n", "--- a\n---b\n--- \n", "\x00", "\xff"}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, strings.ReplaceAll(string(data), `inject.sluice.dev/inject: "true"`, "a: b"))
	}
	for _, text := range texts {
		if out, _ := manifest.Inject(config, "x", []byte(text), manifest.Options{}); string(out) != text {
			t.Errorf("%q became %q", text, out)
		}
	}
}

// FuzzInject injects any text: exactly those of which an outcome says that it is injected change.
func FuzzInject(f *testing.F) {
	paths, err := filepath.Glob("testdata/in/*")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	config := configuration(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		out, outcomes := manifest.Inject(config, "x", data, manifest.Options{Namespace: "shop"})
		changes := false
		for _, one := range outcomes {
			changes = changes || one.Result.Injected && one.Err == nil
		}
		if !changes && !bytes.Equal(out, data) {
			t.Fatalf("%q became %q", data, out)
		}
		if changes && bytes.Equal(out, data) {
			t.Fatalf("nothing of %q has changed", data)
		}
	})
}
