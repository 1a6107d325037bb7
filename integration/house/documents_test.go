package house

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// text is one page of the documentation.
type text struct {
	path  string // from the root, with slashes
	lines []string
}

// fence is a fenced block of a page.
type fence struct {
	path string
	line int    // of the fence's first line
	info string // the text after the backticks
	body string
}

// pages reads the documentation: every Markdown file of the repository.
func pages(t *testing.T) []text {
	t.Helper()
	var found []text
	base := root(t)
	for _, name := range files(t, base) {
		if path.Ext(name) != ".md" || strings.Contains("/"+name, "/testdata/") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(base, name))
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, text{name, strings.Split(string(content), "\n")})
	}
	return found
}

// fences returns the fenced blocks of a page. One that is not closed is a failure.
func fences(t *testing.T, page text) []fence {
	t.Helper()
	var found []fence
	open := -1
	for i, line := range page.lines {
		if !strings.HasPrefix(strings.TrimSpace(line), "```") {
			continue
		}
		if open < 0 {
			open = i
			continue
		}
		info := strings.TrimLeft(strings.TrimSpace(page.lines[open]), "`")
		found = append(found, fence{page.path, open + 1, info, strings.Join(page.lines[open+1:i], "\n") + "\n"})
		open = -1
	}
	if open >= 0 {
		t.Errorf("%s:%d: this block is not closed", page.path, open+1)
	}
	return found
}

// link matches [text](target) but for pages of others and images of badges.
var link = regexp.MustCompile(`\]\(([^)#:\s]+)(#[^)\s]*)?\)`)

func TestLinksLeadSomewhere(t *testing.T) {
	base := root(t)
	for _, page := range pages(t) {
		for i, line := range page.lines {
			for _, match := range link.FindAllStringSubmatch(line, -1) {
				target := path.Join(path.Dir(page.path), match[1])
				if _, err := os.Stat(filepath.Join(base, target)); err != nil {
					t.Errorf("%s:%d: links to %s, which does not exist", page.path, i+1, target)
				}
			}
		}
	}
}

// fragment matches links to a heading: of another page of ours, or of the same one.
var fragment = regexp.MustCompile(`\]\(([^)#:\s]*)#([^)\s]+)\)`)

// TestLinksLeadToHeadings checks the part of links behind #.
func TestLinksLeadToHeadings(t *testing.T) {
	anchors := map[string]map[string]bool{}
	for _, page := range pages(t) {
		anchors[page.path] = anchorsOf(page)
	}
	checked := 0
	for _, page := range pages(t) {
		for i, line := range page.lines {
			for _, match := range fragment.FindAllStringSubmatch(line, -1) {
				target := page.path
				if match[1] != "" {
					target = path.Join(path.Dir(page.path), match[1])
				}
				if path.Ext(target) != ".md" { // Such as a line of a Go file.
					continue
				}
				checked++
				if !anchors[target][match[2]] {
					t.Errorf("%s:%d: links to #%s of %s, which has no such heading", page.path, i+1, match[2], target)
				}
			}
		}
	}
	if checked == 0 {
		t.Error("no link leads to a heading")
	}
}

// marks matches what GitHub leaves out of the anchor of a heading, in which spaces become hyphens.
var marks = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

// anchorsOf returns the anchors of a page's headings, as GitHub names them: the second one of a name ends in -1.
func anchorsOf(page text) map[string]bool {
	found := map[string]bool{}
	fenced := false
	for _, line := range page.lines {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		title := strings.TrimLeft(line, "#")
		if fenced || title == line || !strings.HasPrefix(title, " ") {
			continue
		}
		title = regexp.MustCompile(`\]\([^)]*\)`).ReplaceAllString(strings.TrimSpace(title), "")
		name := strings.ReplaceAll(marks.ReplaceAllString(strings.ToLower(title), ""), " ", "-")
		anchor := name
		for n := 1; found[anchor]; n++ {
			anchor = fmt.Sprintf("%s-%d", name, n)
		}
		found[anchor] = true
	}
	return found
}

// proof matches the names of tests and benchmarks that a page cites.
var proof = regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z][A-Za-z0-9]*)`")

// TestCitedTestsExist checks that tests which pages cite exist.
func TestCitedTestsExist(t *testing.T) {
	declared := map[string]bool{}
	pattern := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)[A-Z][A-Za-z0-9]*)\(`)
	for _, folder := range load(t).folders {
		for _, file := range folder.files {
			for _, match := range pattern.FindAllSubmatch(file.text, -1) {
				declared[string(match[1])] = true
			}
		}
	}
	for _, page := range pages(t) {
		for i, line := range page.lines {
			for _, match := range proof.FindAllStringSubmatch(line, -1) {
				if !declared[match[1]] {
					t.Errorf("%s:%d: cites %s, which does not exist", page.path, i+1, match[1])
				}
			}
		}
	}
}

// Words of workshops: paths of one machine, and how a text came about instead of what is so.
var workshop = regexp.MustCompile(`/ro` + `ot/|/wo` + `rk/|/ho` + `me/[a-z]|\b(this|another|previous) ses` +
	`sion\b|\bsub` + `agent|\bissue ` + `#?[0-9]|as an A` + `I\b`)

func TestTheRepositorySpeaksOfTheProjectAlone(t *testing.T) {
	base := root(t)
	for _, name := range files(t, base) {
		if !spoken(name) {
			continue
		}
		content, err := os.ReadFile(filepath.Join(base, name))
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(content), "\n") {
			if found := workshop.FindString(line); found != "" {
				t.Errorf("%s:%d: %q does not belong here", name, i+1, found)
			}
		}
	}
}

// spoken reports whether a file is written by people: code, configuration or prose.
func spoken(name string) bool {
	switch path.Ext(name) {
	case ".go", ".md", ".yaml", ".yml", ".toml", ".sh", ".mod":
		return true
	}
	return within(name, ".ci") || name == "Makefile" || name == "Dockerfile"
}
