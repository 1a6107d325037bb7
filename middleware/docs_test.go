package middleware_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/middleware"
)

var update = flag.Bool("update", false, "write the table of docs/middlewares.md instead of comparing with it")

// TestDocumentationListsEveryKind demands that docs/middlewares.md has a row for each kind, with the first sentence
// of its README.
func TestDocumentationListsEveryKind(t *testing.T) {
	const begin, end = "<!-- kinds -->\n", "<!-- end of kinds -->\n"
	page := filepath.Join("..", "docs", "middlewares.md")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, opened := strings.Cut(string(text), begin)
	table, after, closed := strings.Cut(rest, end)
	if !opened || !closed {
		t.Fatalf("%s has no place for the table", page)
	}
	want := "| kind | what it does | may guard the API |\n|---|---|---|\n"
	for _, kind := range middleware.Kinds() {
		folder := strings.ToLower(kind.Name)
		sentence := summary(t, folder)
		if sentence == "" { // An older name of another kind.
			folder, sentence = "ipallowlist", "An older name of `ipAllowList`."
		}
		guards := ""
		if kind.Guards {
			guards = "yes"
		}
		want += fmt.Sprintf("| [`%s`](../middleware/%s/README.md) | %s | %s |\n", kind.Name, folder, sentence, guards)
	}
	if *update {
		if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, table); diff != "" {
		t.Errorf("run make generate (-derived +written):\n%s", diff)
	}
}

// summary returns the first sentence below the title of a README; empty when there is no README.
func summary(t *testing.T, folder string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "README.md"))
	if err != nil {
		return ""
	}
	_, paragraph, _ := strings.Cut(string(text), "\n\n")
	paragraph, _, _ = strings.Cut(paragraph, "\n\n")
	sentence, _, _ := strings.Cut(strings.ReplaceAll(paragraph, "\n", " ")+" ", ". ")
	return strings.TrimSuffix(strings.TrimSpace(sentence), ".") + "."
}

// TestEveryFolderIsOfAKind demands that each folder with a README is registered under the name in its title.
func TestEveryFolderIsOfAKind(t *testing.T) {
	var names []string
	for _, kind := range middleware.Kinds() {
		if kind.Name == "" || slices.Contains(names, kind.Name) {
			t.Errorf("a kind has the name %q", kind.Name)
		}
		names = append(names, kind.Name)
	}
	readmes, err := filepath.Glob("*/README.md")
	if err != nil || len(readmes) < 20 {
		t.Fatalf("found %q, %v", readmes, err)
	}
	for _, readme := range readmes {
		text, err := os.ReadFile(readme)
		if err != nil {
			t.Fatal(err)
		}
		title, _, _ := strings.Cut(string(text), "\n")
		if name := strings.TrimPrefix(title, "# "); !slices.Contains(names, name) {
			t.Errorf("%s is of the kind %q, which is not registered", readme, name)
		}
	}
}
