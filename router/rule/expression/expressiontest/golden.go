// Package expressiontest has what the tests of the rule languages share.
package expressiontest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Golden compares what describe makes of each line of testdata/name with the indented line that follows it. Empty lines
// and those that begin with # are left as they are. With the test's flag -update, which the caller defines and passes,
// the file is written instead.
func Golden(t *testing.T, name string, update bool, describe func(rule string) string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	content := ReadFile(t, file)
	var got strings.Builder
	for line := range strings.Lines(content) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
			got.WriteString(line + "\n")
		case !strings.HasPrefix(line, "\t"):
			got.WriteString(line + "\n\t" + describe(line) + "\n")
		}
	}
	if update {
		if err := os.WriteFile(file, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want := strings.Split(content, "\n")
	for i, line := range strings.Split(got.String(), "\n") {
		if i >= len(want) || line != want[i] {
			t.Fatalf("%s:%d: got %q, want %q", file, i+1, line, want[min(i, len(want)-1)])
		}
	}
}

// ReadFile returns the text of a file, or fails the test.
func ReadFile(t testing.TB, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
