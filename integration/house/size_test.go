package house

import (
	"bytes"
	"go/ast"
	"testing"
)

// maxLines is the length of a file beyond which it is about more than one thing. Generated files are exempt.
const maxLines = 500

func TestFilesAreShort(t *testing.T) {
	for _, folder := range load(t).folders {
		for _, file := range folder.files {
			if n := bytes.Count(file.text, []byte("\n")); n > maxLines && !ast.IsGenerated(file.syntax) {
				t.Errorf("%s: %d lines, at most %d", file.path, n, maxLines)
			}
		}
	}
}
