package house

import (
	"go/ast"
	"regexp"
	"strings"
	"testing"
)

func TestPackageComments(t *testing.T) {
	for _, folder := range load(t).folders {
		var comments []string
		var code bool
		for _, file := range folder.files {
			if file.test {
				continue
			}
			code = true
			if file.syntax.Doc != nil {
				comments = append(comments, file.syntax.Doc.Text())
			}
		}
		switch {
		case !code:
			continue
		case len(comments) != 1:
			t.Errorf("%s: %d files have a package comment; exactly one should", folder.path, len(comments))
		}
	}
}

// Suffixes without meaning.
var empty = regexp.MustCompile(`(Manager|Factory|Helper|Util|Utils|Impl|Info)$`)

func TestTypeNamesSayWhatTheyAre(t *testing.T) {
	loaded := load(t)
	for _, folder := range loaded.folders {
		for _, file := range folder.files {
			ast.Inspect(file.syntax, func(node ast.Node) bool {
				if spec, ok := node.(*ast.TypeSpec); ok && empty.MatchString(spec.Name.Name) {
					t.Errorf("%s: the name of type %s ends with a word that says nothing", loaded.fset.Position(spec.Pos()),
						spec.Name.Name)
				}
				return true
			})
		}
	}
}

// unfinished is put together here, so that this file does not contain the marks that it looks for.
var unfinished = regexp.MustCompile(`\b(` + strings.Join([]string{"TO" + "DO", "FIX" + "ME", "X" + "XX", "HA" + "CK"},
	"|") + `)\b|not ` + `implemented`)

func TestNothingIsLeftForLater(t *testing.T) {
	loaded := load(t)
	for _, folder := range loaded.folders {
		for _, file := range folder.files {
			for number, line := range strings.Split(string(file.text), "\n") {
				if unfinished.MatchString(line) && !strings.Contains(line, "Not "+"Implemented") {
					t.Errorf("%s:%d: a mark of unfinished work: %s", file.path, number+1, strings.TrimSpace(line))
				}
			}
		}
	}
}
