package snippet_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/snippet"
)

var update = flag.Bool("update", false, "write the readings of snippets")

// show writes a reading as text.
func show(result snippet.Result) string {
	var out strings.Builder
	if result.Protects {
		out.WriteString("protects\n")
	}
	for _, one := range result.Proposals {
		out.WriteString("lines")
		for _, line := range one.Lines {
			out.WriteString(" " + string(rune('0'+line/10)) + string(rune('0'+line%10)))
		}
		if one.Protects {
			out.WriteString(", protects")
		}
		out.WriteString("\n  replaces " + strings.ReplaceAll(one.Replaces, "\n", "\n           ") + "\n")
		if one.Match != "" {
			out.WriteString("  match " + one.Match + "\n")
		}
		for line := range strings.Lines(one.YAML()) {
			out.WriteString("    " + line)
		}
		for _, text := range one.Caveats {
			out.WriteString("  ! " + text + "\n")
		}
	}
	for _, one := range result.Rest {
		out.WriteString("rest " + string(rune('0'+one.Line/10)) + string(rune('0'+one.Line%10)) + " " + one.Directive +
			": " + one.Reason + "\n")
	}
	return out.String()
}

// TestRead compares the proposals for each snippet of testdata/snippets.txt with what is written below it.
func TestRead(t *testing.T) {
	path := filepath.Join("testdata", "snippets.txt")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var fresh strings.Builder
	count := 0
	for section := range strings.SplitSeq(strings.TrimPrefix(string(content), "=== "), "\n=== ") {
		name, rest, _ := strings.Cut(section, "\n")
		text, want, _ := strings.Cut(rest, "---\n")
		got := show(snippet.Read(text))
		if strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("%s: got\n%swant\n%s", name, got, want)
		}
		fresh.WriteString("=== " + name + "\n" + text + "---\n" + got + "\n")
		count++
	}
	if count < 40 {
		t.Errorf("there are %d snippets", count)
	}
	if *update {
		if err := os.WriteFile(path, []byte(strings.TrimSuffix(fresh.String(), "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestObject(t *testing.T) {
	proposals := snippet.Read("more_set_headers 'X-A: b';").Proposals
	want := `apiVersion: sluice.dev/v1alpha1
kind: Middleware
metadata:
  name: headers
  namespace: shop
spec:
  responseHeaderModifier:
    set:
    - name: X-A
      value: b
`
	if got := proposals[0].Object("shop", "headers"); got != want {
		t.Errorf("got\n%s", got)
	}
	if none := snippet.Read("expires off;").Proposals[0]; none.Object("shop", "none") != "" || none.YAML() != "" {
		t.Errorf("%+v", none)
	}
}

// FuzzRead demands that every directive outside of blocks is proposed or among the rest, with a line of the text, and
// that what restricts access is said to do so.
func FuzzRead(f *testing.F) {
	content, err := os.ReadFile(filepath.Join("testdata", "snippets.txt"))
	if err != nil {
		f.Fatal(err)
	}
	for section := range strings.SplitSeq(string(content), "\n=== ") {
		_, rest, _ := strings.Cut(section, "\n")
		text, _, _ := strings.Cut(rest, "---\n")
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		result := snippet.Read(text)
		lines := strings.Count(text, "\n") + 1
		for _, one := range result.Rest {
			if one.Line < 1 || one.Line > lines || one.Reason == "" || len(one.Directive) > 64 {
				t.Errorf("%+v", one)
			}
		}
		for _, one := range result.Proposals {
			if len(one.Lines) == 0 || one.Lines[0] < 1 || one.Lines[0] > lines || one.Replaces == "" {
				t.Errorf("%+v", one)
			}
			if (one.Kind == "") != (one.Middleware == nil) || (one.Kind == "") != (one.YAML() == "") {
				t.Errorf("%+v", one)
			}
			if one.Protects && one.Kind != "redirectScheme" && !result.Protects {
				t.Errorf("the snippet does not protect: %+v", one)
			}
			if one.Kind != "" && !strings.HasPrefix(one.YAML(), one.Kind+":") {
				t.Errorf("%s: %s", one.Kind, one.YAML())
			}
		}
		if _, protects := snippet.Protects(text); protects != result.Protects {
			t.Error("the two disagree")
		}
	})
}
