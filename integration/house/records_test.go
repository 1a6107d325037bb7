package house

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDecisionsHaveTheirForm checks that the records in docs/adr are numbered without gaps and follow the template.
func TestDecisionsHaveTheirForm(t *testing.T) {
	number := 0
	for _, page := range pages(t) {
		if path.Dir(page.path) != "docs/adr" {
			continue
		}
		if want := fmt.Sprintf("%04d-", number); !strings.HasPrefix(path.Base(page.path), want) {
			t.Errorf("%s: its number should be %s", page.path, want)
		}
		for _, section := range []string{"## Context", "## Decision", "## Alternatives", "## Consequences"} {
			if !slices.Contains(page.lines, section) {
				t.Errorf("%s: lacks the section %q", page.path, section)
			}
		}
		if !slices.ContainsFunc(page.lines, func(line string) bool { return strings.HasPrefix(line, "Status: ") }) {
			t.Errorf("%s: does not say its status", page.path)
		}
		number++
	}
	if number < 2 {
		t.Errorf("%d records were found", number)
	}
}

// TestGlossary demands that the glossary stays short, and that each entry names the term which other proxies use.
func TestGlossary(t *testing.T) {
	const maxEntries = 25
	content, err := os.ReadFile(filepath.Join(root(t), "docs/glossary.md"))
	if err != nil {
		t.Fatal(err)
	}
	entries := regexp.MustCompile(`(?m)^\*\*([A-Za-z, ]+)\*\* `).FindAllStringSubmatchIndex(string(content), -1)
	if len(entries) == 0 || len(entries) > maxEntries {
		t.Errorf("the glossary has %d entries, at most %d", len(entries), maxEntries)
	}
	for i, entry := range entries {
		end := len(content)
		if i+1 < len(entries) {
			end = entries[i+1][0]
		}
		if !strings.Contains(string(content[entry[0]:end]), "*Elsewhere:*") {
			t.Errorf("the glossary does not name the standard term for %s", content[entry[2]:entry[3]])
		}
	}
}

// TestDifferencesAreProved demands that every row of the table of differences cites a test in its last column;
// TestCitedTestsExist looks whether it exists.
func TestDifferencesAreProved(t *testing.T) {
	for _, page := range pages(t) {
		if page.path != "docs/migrate/traefik.md" {
			continue
		}
		rows := 0
		for i, line := range page.lines {
			cells := strings.Split(strings.Trim(line, "| "), " | ")
			if len(cells) != 4 || cells[0] == "topic" {
				continue
			}
			rows++
			if !proof.MatchString(cells[3]) {
				t.Errorf("%s:%d: nothing proves this", page.path, i+1)
			}
		}
		if rows < 10 {
			t.Errorf("%d differences were found", rows)
		}
		return
	}
	t.Error("there is no page about the differences")
}

// TestMakefileHelpsItself demands that every target has its line in `make help`, and that the file stays short.
func TestMakefileHelpsItself(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(root(t), "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Split(string(content), "\n")
	if len(all) > 90 {
		t.Errorf("the Makefile has %d lines, at most 90", len(all))
	}
	target := regexp.MustCompile(`^([a-z][a-z-]*):([^=].*)?$`)
	targets := map[string]bool{}
	for i, line := range all {
		if match := target.FindStringSubmatch(line); match != nil {
			targets[match[1]] = true
			if !strings.Contains(line, " ## ") {
				t.Errorf("Makefile:%d: target %s does not say what it does", i+1, match[1])
			}
		}
	}
	cited := regexp.MustCompile("`make ([a-z-]+)")
	for _, page := range pages(t) {
		for i, line := range page.lines {
			for _, match := range cited.FindAllStringSubmatch(line, -1) {
				if !targets[match[1]] {
					t.Errorf("%s:%d: there is no target %s", page.path, i+1, match[1])
				}
			}
		}
	}
}
