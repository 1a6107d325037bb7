package document

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the goldens anew")

// render prints a tree with the position of each value.
func render(b *strings.Builder, n *Node, indent string) {
	switch n.Kind {
	case Null:
		fmt.Fprintf(b, "null @%d:%d\n", n.Line, n.Column)
	case Scalar:
		fmt.Fprintf(b, "%s %q @%d:%d\n", []string{"string", "int", "float", "bool"}[n.Type], n.Value, n.Line, n.Column)
	case List:
		fmt.Fprintf(b, "list @%d:%d\n", n.Line, n.Column)
		for _, item := range n.Items {
			b.WriteString(indent + "- ")
			render(b, item, indent+"  ")
		}
	case Map:
		fmt.Fprintf(b, "map @%d:%d\n", n.Line, n.Column)
		for _, f := range n.Fields {
			fmt.Fprintf(b, "%s%q @%d = ", indent, f.Key, f.Line)
			render(b, f.Value, indent+"  ")
		}
	}
}

// TestParseGoldens reads every file in testdata/parse and compares the tree, or the error, with the golden beside it.
func TestParseGoldens(t *testing.T) {
	files, err := filepath.Glob("testdata/parse/*")
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
			var got strings.Builder
			if root, err := Parse(filepath.Base(file), data); err != nil {
				fmt.Fprintf(&got, "error: %v\n", err)
			} else {
				render(&got, root, "  ")
			}
			golden(t, file+".golden", got.String())
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
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

func TestShowKey(t *testing.T) {
	long := strings.Repeat("k", 64)
	for key, want := range map[string]string{
		"": "", "users": "users", "X-Über_1.b/c@d": "X-Über_1.b/c@d", long: long, long + "k": "...",
		"admin:$2y$x": "admin...", "X A": "X...",
		"token=x": "token...", ":x": "...", "a\nb": "...", "{x": "...", "x\xff": "...",
	} {
		if got := ShowKey(key); got != want {
			t.Errorf("%q is shown as %q, want %q", key, got, want)
		}
	}
}
