package pages

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// block is a fenced block of a page, or a comment with commands.
type block struct {
	line int      // of the fence, from 1
	info []string // the words after the backticks
	body string
}

// is reports whether the block begins with these words.
func (b block) is(words ...string) bool {
	return strings.HasPrefix(strings.Join(b.info, " ")+" ", strings.Join(words, " ")+" ")
}

// command reports whether the block is one of shell commands that are run.
func (b block) command() bool {
	return b.is("sh", "run") || b.is("sh", "fails") || b.is("sh", "await") || b.is("sh", "start")
}

// file returns the path of the file that the block shows, or "".
func (b block) file() string {
	if len(b.info) == 3 && b.info[1] == "file" {
		return b.info[2]
	}
	if len(b.info) < 2 || b.info[0] != "yaml" && b.info[0] != "toml" {
		return ""
	}
	kind := b.info[1]
	switch {
	case len(b.info) > 2:
		return b.info[2]
	case kind != "static" && kind != "dynamic":
		return ""
	case kind == "static":
		return "/etc/sluice/sluice." + b.info[0]
	}
	return "/etc/sluice/dynamic/routes." + b.info[0]
}

// commentOpen begins a comment with commands, commentClose ends it.
const commentOpen, commentClose = "<!-- sh run", "-->"

// blocks returns the blocks of a page.
func blocks(text string) []block {
	var found []block
	open, end := -1, ""
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		line = strings.TrimSpace(line)
		switch {
		case open < 0 && strings.HasPrefix(line, "```"):
			open, end = i, "```"
		case open < 0 && line == commentOpen:
			open, end = i, commentClose
		case open >= 0 && line == end:
			info := strings.TrimPrefix(strings.TrimLeft(strings.TrimSpace(lines[open]), "`"), "<!-- ")
			found = append(found, block{open + 1, strings.Fields(info), strings.Join(lines[open+1:i], "\n") + "\n"})
			open = -1
		}
	}
	return found
}

// runnable returns the pages with commands to run, by their path from the root of the repository.
func runnable(t *testing.T) map[string][]block {
	t.Helper()
	const root = "../.."
	found := map[string][]block{}
	add := func(name string) error {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		page := blocks(string(text))
		for _, one := range page {
			if one.command() {
				found[name] = page
			}
		}
		return nil
	}
	err := fs.WalkDir(os.DirFS(root), "docs", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".md" {
			return err
		}
		return add(name)
	})
	if err == nil {
		err = add("README.md")
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Fatal("no page has commands to run")
	}
	return found
}

// matches reports whether an output is the answer that a page shows.
func matches(answer, output string) bool {
	return match(trimmed(answer), trimmed(output))
}

// trimmed returns the lines of a text without spaces at their ends, and without empty lines at the end of the text.
func trimmed(text string) []string {
	lines := strings.Split(strings.TrimRight(text, "\r\n "), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, "\r ")
	}
	return lines
}

const anything = "..."

func match(answer, output []string) bool {
	switch {
	case len(answer) == 0:
		return len(output) == 0
	case answer[0] == anything:
		for skipped := 0; skipped <= len(output); skipped++ {
			if match(answer[1:], output[skipped:]) {
				return true
			}
		}
		return false
	case len(output) == 0:
		return false
	}
	return matchLine(answer[0], output[0]) && match(answer[1:], output[1:])
}

func matchLine(answer, line string) bool {
	parts := strings.Split(answer, anything)
	if len(parts) == 1 {
		return answer == line
	}
	first, last := parts[0], parts[len(parts)-1]
	if !strings.HasPrefix(line, first) || len(line) < len(first)+len(last) || !strings.HasSuffix(line, last) {
		return false
	}
	line = line[len(first) : len(line)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(line, part)
		if at < 0 {
			return false
		}
		line = line[at+len(part):]
	}
	return true
}

// TestAnswersAreCompared shows that an answer which differs is found.
func TestAnswersAreCompared(t *testing.T) {
	for _, test := range []struct {
		answer, output string
		want           bool
	}{
		{"200\n", "200\n", true},
		{"200\n", "404\n", false},
		{"HTTP/1.1 200 OK\n...\nName: a", "HTTP/1.1 200 OK\r\nDate: x\r\n\r\nName: a\n", true},
		{"HTTP/1.1 200 OK\n...\nName: a", "HTTP/1.1 200 OK\nName: b", false},
		{"version: ...", "version: v1", true},
		{"took ... ms and ... s", "took 1 ms and 2 s", true},
		{"took ... ms and ... s", "took 1 ms", false},
		{"a\n...", "a", true},
		{"a", "a\nb", false},
	} {
		if got := matches(test.answer, test.output); got != test.want {
			t.Errorf("%q, %q: %v", test.answer, test.output, got)
		}
	}
}

// TestBlocks reads a page with each kind of block.
func TestBlocks(t *testing.T) {
	page := "# Page\n\n<!-- sh run\ncd /srv\n-->\n```yaml static\nping: {}\n```\n```yaml dynamic /etc/x.yaml\nhttp: {}\n```\n" +
		"```sh start\nsluice\n```\n```yaml other\na: b\n```\n```js file /srv/x.js\nx\n```\n"
	var got []string
	for _, one := range blocks(page) {
		got = append(got, fmt.Sprintf("%d %v %q", one.line, one.command(), one.file()))
	}
	want := []string{
		`3 true ""`, `6 false "/etc/sluice/sluice.yaml"`, `9 false "/etc/x.yaml"`, `12 true ""`, `15 false ""`,
		`18 false "/srv/x.js"`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestRotationIsThatOfThePackages checks that docs/logging.md shows the logrotate file of the packages.
func TestRotationIsThatOfThePackages(t *testing.T) {
	want, err := os.ReadFile("../../deploy/logrotate/sluice")
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range runnable(t)["docs/logging.md"] {
		if one.file() == "/etc/logrotate.d/sluice" && one.body == string(want) {
			return
		}
	}
	t.Error("docs/logging.md does not show deploy/logrotate/sluice")
}
