package dynamic

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/document"
)

var update = flag.Bool("update", false, "write the goldens anew")

func decodeText(t testing.TB, d *Decoder, name, text string) *Configuration {
	t.Helper()
	root, err := document.ParseWithDuplicates(name, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d.Decode(name, root, false)
}

// TestDecodeGoldens decodes every file in testdata/decode and compares what came of it with the golden beside it.
func TestDecodeGoldens(t *testing.T) {
	files, err := filepath.Glob("testdata/decode/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test data: %v", err)
	}
	for _, file := range files {
		if filepath.Ext(file) == ".golden" {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			out := decodeText(t, new(Decoder), filepath.Base(file), string(data))
			pretty, err := json.MarshalIndent(out, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for _, verdict := range out.Verdicts {
				got.WriteString(verdict.String() + "\n")
			}
			got.WriteString(string(pretty) + "\n")
			golden(t, file+".golden", got.String())
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", name, diff)
	}
}

func TestUnchangedObjectsKeepTheirPointer(t *testing.T) {
	var d Decoder
	first := decodeText(t, &d, "a.yaml", `
http:
  routers:
    same: {rule: Host(`+"`a`"+`), service: s}
    other: {rule: Host(`+"`b`"+`), service: s}
    broken: {rule: Host(`+"`c`"+`), servce: s}
    gone: {rule: Host(`+"`d`"+`)}
tcp: {routers: {t: {}}}
tls:
  certificates: [{certFile: a, keyFile: b}]
`)
	second := decodeText(t, &d, "a.yaml", `
# a comment moves everything
tls:
  certificates:
    - certFile: "a"
      keyFile: 'b'
tcp: {routers: {t: {}}}
http:
  routers:
    broken: {rule: Host(`+"`c`"+`), servce: s}
    same: {rule: Host(`+"`a`"+`), service: s}
    other: {rule: Host(`+"`changed`"+`), service: s}
`)
	for _, name := range []string{"same", "broken"} {
		if first.HTTP.Routers.Get(name) != second.HTTP.Routers.Get(name) {
			t.Errorf("router %s has another pointer", name)
		}
	}
	if first.HTTP.Routers.Get("other") == second.HTTP.Routers.Get("other") {
		t.Error("the changed router has the old pointer")
	}
	if first.TLS.Certificates[0] != second.TLS.Certificates[0] {
		t.Error("the certificate has another pointer")
	}
	if second.HTTP.Routers.Get("gone") != nil {
		t.Error("a removed router is still there")
	}
	ref := Ref{Kind: KindRouter, Name: "same"}
	if before, after := first.Origins.Get(ref).Line, second.Origins.Get(ref).Line; before != 4 || after != 11 {
		t.Errorf("the router's lines are %d and %d, want 4 and 11", before, after)
	}
	for _, verdict := range second.Verdicts {
		if verdict.Ref.Name == "broken" && verdict.Origin.Line != 10 {
			t.Errorf("verdict %v has not moved to line 10", verdict)
		}
	}
	d.Forget("a.yaml")
	third := decodeText(t, &d, "a.yaml", "http: {routers: {same: {rule: Host(`a`), service: s}}}")
	if third.HTTP.Routers.Get("same") == second.HTTP.Routers.Get("same") {
		t.Error("a dropped file keeps its objects")
	}
}

// TestFilesAreCachedSeparately proves that two files may declare the same name, each with its own pointer.
func TestFilesAreCachedSeparately(t *testing.T) {
	var d Decoder
	text := "http: {routers: {r: {rule: Host(`a`)}}}"
	a, b := decodeText(t, &d, "a.yaml", text), decodeText(t, &d, "b.yaml", text)
	if a.HTTP.Routers.Get("r") == b.HTTP.Routers.Get("r") {
		t.Error("two files share an object")
	}
	if again := decodeText(t, &d, "a.yaml", text); again.HTTP.Routers.Get("r") != a.HTTP.Routers.Get("r") {
		t.Error("the first file's object has another pointer")
	}
}

func TestDecodeSaysWhenLinesAreRendered(t *testing.T) {
	root, err := document.Parse("a.yaml", []byte("http:\n  routers:\n    r: {ruel: x}\n"))
	if err != nil {
		t.Fatal(err)
	}
	out := new(Decoder).Decode("a.yaml", root, true)
	want := `a.yaml:3 (rendered): router r: ruel: unknown option, did you mean "rule"?`
	if len(out.Verdicts) != 1 || out.Verdicts[0].String() != want {
		t.Errorf("verdicts %v, want %s", out.Verdicts, want)
	}
}
