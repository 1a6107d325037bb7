package house

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestSecurityNamesTestsThatExist checks docs/security.md: each row of its tables names a test, and each test that is
// named is a function of the package before it.
func TestSecurityNamesTestsThatExist(t *testing.T) {
	const page, column = "docs/security.md", 3
	declared := map[string][]string{} // by package
	for _, folder := range load(t).folders {
		for _, file := range folder.files {
			for _, declaration := range file.syntax.Decls {
				if function, ok := declaration.(*ast.FuncDecl); ok && file.test && function.Recv == nil {
					declared[folder.path] = append(declared[folder.path], function.Name.Name)
				}
			}
		}
	}
	all := pages(t)
	at := slices.IndexFunc(all, func(one text) bool { return one.path == page })
	if at < 0 {
		t.Fatalf("there is no %s", page)
	}
	span, test := regexp.MustCompile("`([^`]+)`"), regexp.MustCompile(`^(Test|Fuzz|Benchmark)[A-Z]\w*$`)
	checked := 0
	for i, line := range all[at].lines {
		cells := strings.Split(line, " | ")
		if len(cells) <= column || strings.HasPrefix(line, "| attack |") || strings.HasPrefix(line, "| class |") {
			continue
		}
		named, in := 0, ""
		for _, match := range span.FindAllStringSubmatch(cells[column], -1) {
			switch name := match[1]; {
			case !test.MatchString(name):
				in = name
			case !slices.Contains(declared[in], name):
				t.Errorf("%s:%d: there is no %s in the package %q", page, i+1, name, in)
			default:
				named++
			}
		}
		if named == 0 {
			t.Errorf("%s:%d: the row names no test", page, i+1)
		}
		checked++
	}
	if checked < 30 {
		t.Errorf("%s has %d rows", page, checked)
	}
}

// TestNothingDecompresses checks that the program does not decompress what others send.
func TestNothingDecompresses(t *testing.T) {
	packages := map[string]string{ // the names of what decompresses
		"compress/bzip2": "NewReader", "compress/flate": "NewReader", "compress/gzip": "NewReader",
		"compress/lzw": "NewReader", "compress/zlib": "NewReader",
		"klauspost/compress/flate": "NewReader", "klauspost/compress/gzip": "NewReader",
		"klauspost/compress/zlib": "NewReader", "klauspost/compress/zstd": "NewReader",
		"andybalholm/brotli": "NewReader",
	}
	loaded := load(t)
	for _, folder := range loaded.folders {
		if within(folder.path, "integration") {
			continue
		}
		for _, file := range folder.files {
			readers := map[string]string{} // by the name of the import in the file
			for _, imported := range file.syntax.Imports {
				from := strings.TrimPrefix(strings.Trim(imported.Path.Value, `"`), "github.com/")
				if name := packages[from]; name != "" {
					as := path.Base(from)
					if imported.Name != nil {
						as = imported.Name.Name
					}
					readers[as] = name
				}
			}
			if file.test || len(readers) == 0 {
				continue
			}
			ast.Inspect(file.syntax, func(node ast.Node) bool {
				selector, ok := node.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				of, ok := selector.X.(*ast.Ident)
				if name := readers[identifier(of, ok)]; name != "" && strings.HasPrefix(selector.Sel.Name, name) {
					t.Errorf("%s: uses %s.%s", loaded.fset.Position(node.Pos()), of.Name, selector.Sel.Name)
				}
				return true
			})
		}
	}
}

// identifier returns the name of an identifier that is known.
func identifier(of *ast.Ident, known bool) string {
	if !known {
		return ""
	}
	return of.Name
}
