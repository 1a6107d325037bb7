package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// module is the path that every import of our own begins with.
const module = "github.com/sluiceproxy/sluice"

// source is one parsed Go file.
type source struct {
	path   string // from the root, with slashes
	test   bool
	syntax *ast.File
	text   []byte
}

// folder is one directory of Go files.
type folder struct {
	path  string // from the root, with slashes
	files []source
}

// tree is the repository's Go code.
type tree struct {
	root    string
	fset    *token.FileSet
	folders []folder
}

// root finds the directory of go.mod above this package.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// files lists the regular files below the root, in order. Hidden folders (but for .ci), what the build makes,
// and modules of their own (but for those below sdk) are left out.
func files(t *testing.T, root string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		relative = filepath.ToSlash(relative)
		if entry.IsDir() {
			_, nested := os.Stat(filepath.Join(name, "go.mod"))
			hidden := strings.HasPrefix(entry.Name(), ".") && entry.Name() != ".ci"
			foreign := nested == nil && !within(relative, "sdk")
			if relative != "." && (hidden || foreign || relative == "dist") {
				return fs.SkipDir
			}
			return nil
		}
		if entry.Type().IsRegular() {
			found = append(found, relative)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// load parses the repository's Go code, without that of testdata folders.
func load(t *testing.T) tree {
	t.Helper()
	loaded := tree{root: root(t), fset: token.NewFileSet()}
	folders := map[string]*folder{}
	for _, name := range files(t, loaded.root) {
		if !strings.HasSuffix(name, ".go") || strings.Contains("/"+name, "/testdata/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(loaded.root, name))
		if err != nil {
			t.Fatal(err)
		}
		syntax, err := parser.ParseFile(loaded.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		dir := path.Dir(name)
		if folders[dir] == nil {
			folders[dir] = &folder{path: dir}
		}
		folders[dir].files = append(folders[dir].files, source{name, strings.HasSuffix(name, "_test.go"), syntax, text})
	}
	for _, one := range folders {
		loaded.folders = append(loaded.folders, *one)
	}
	slices.SortFunc(loaded.folders, func(a, b folder) int { return strings.Compare(a.path, b.path) })
	if len(loaded.folders) < 5 {
		t.Fatalf("only %d folders of Go code found below %s", len(loaded.folders), loaded.root)
	}
	return loaded
}

// within reports whether the path is the folder or lies below it.
func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

// TestNoLeftovers refuses what patch and merge tools leave behind.
func TestNoLeftovers(t *testing.T) {
	for _, name := range files(t, root(t)) {
		if extension := path.Ext(name); extension == ".orig" || extension == ".rej" {
			t.Errorf("%s: is a leftover of a patch", name)
		}
	}
}
