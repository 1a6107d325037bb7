package kubernetes

import (
	"os"
	"path/filepath"
	"testing"
)

// crds returns the definitions of a group's custom resources.
func crds(t testing.TB, group string) []string {
	t.Helper()
	files, err := filepath.Glob("../../deploy/crds/" + group + "/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no definitions of %s (%v)", group, err)
	}
	texts := make([]string, 0, len(files))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return texts
}
