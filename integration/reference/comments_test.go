package reference

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// comments are the comments of the fields of each struct of a package: by the type's name, then by the field's.
type comments map[string]map[string]string

// readComments parses the Go files of a folder, without its tests.
func readComments(t *testing.T, folder string) comments {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("found %q, %v", names, err)
	}
	found := comments{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if declared, is := node.(*ast.TypeSpec); is {
				found.add(declared)
			}
			return true
		})
	}
	return found
}

// add keeps the comments of a struct's fields.
func (c comments) add(declared *ast.TypeSpec) {
	structure, is := declared.Type.(*ast.StructType)
	if !is {
		return
	}
	fields := map[string]string{}
	for _, field := range structure.Fields.List {
		for _, name := range field.Names {
			fields[name.Name] = strings.Join(strings.Fields(field.Doc.Text()), " ")
		}
	}
	c[declared.Name.Name] = fields
}
