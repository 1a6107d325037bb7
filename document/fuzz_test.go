package document

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzParse asserts that no text makes Parse or Decode panic, that every line lies within the text, and that what was
// read once is read the same way again.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/parse/*")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		switch filepath.Ext(file) {
		case ".toml":
			f.Add(true, data)
		case ".yaml", ".json":
			f.Add(false, data)
		}
	}
	f.Fuzz(func(t *testing.T, toml bool, data []byte) {
		name := "x.yaml"
		if toml {
			name = "x.toml"
		}
		lines := 2 + len(data)
		if !strings.ContainsAny(string(data), "\r\u0085\u2028\u2029") { // YAML breaks lines there, too
			lines = 2 + strings.Count(string(data), "\n")
		}
		root, err := ParseWithDuplicates(name, data)
		if err != nil {
			at, ok := errors.AsType[*Error](err)
			if !ok || at.Line < 1 || at.Line > lines || at.Reason == "" {
				t.Fatalf("error %#v in a text of %d lines", err, lines)
			}
			return
		}
		checkTree(t, root, lines)
		var into sample
		first := Decode(root, &into)
		for _, problem := range first {
			if problem.Line < 1 || problem.Line > lines {
				t.Fatalf("problem %+v in a text of %d lines", problem, lines)
			}
		}
		again, err := ParseWithDuplicates(name, data)
		if err != nil || string(again.AppendIdentity(nil)) != string(root.AppendIdentity(nil)) {
			t.Fatalf("read differently the second time: %v", err)
		}
	})
}

func checkTree(t *testing.T, n *Node, lines int) {
	t.Helper()
	if n.Line < 1 || n.Line > lines || n.size < 1 || n.height < 1 {
		t.Fatalf("node %+v in a text of %d lines", n, lines)
	}
	for _, item := range n.Items {
		checkTree(t, item, lines)
	}
	for _, field := range n.Fields {
		if field.Line < 1 || field.Line > lines {
			t.Fatalf("field %+v in a text of %d lines", field, lines)
		}
		checkTree(t, field.Value, lines)
	}
}
