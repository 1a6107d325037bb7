package gotemplate_test

import (
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/provider/gotemplate"
)

var update = flag.Bool("update", false, "write the results in docs/reference/template-functions.md anew")

const functionsPage = "../../docs/reference/template-functions.md"

// builtins are the functions of text/template that the page names; slice is sprig's.
var builtins = strings.Fields("and call eq ge gt html index js le len lt ne not or print printf println urlquery")

// functionRow matches a row of the page: the names of functions, their meaning, an example, and its result.
var functionRow = regexp.MustCompile("^\\| (`[^|]+`) \\| ([^|]+) \\| (?:`([^|]+)`)? \\| (.*) \\|\n$")

// TestFunctionReference runs the examples of docs/reference/template-functions.md, and demands that the page has every
// function and no other one.
func TestFunctionReference(t *testing.T) {
	text, err := os.ReadFile(functionsPage)
	if err != nil {
		t.Fatal(err)
	}
	want, named := strings.Builder{}, []string{}
	for line := range strings.Lines(string(text)) {
		row := functionRow.FindStringSubmatch(line)
		if row == nil {
			want.WriteString(line)
			continue
		}
		names := strings.Split(strings.ReplaceAll(row[1], "`", ""), ", ")
		named = append(named, names...)
		if row[3] == "" {
			want.WriteString("| " + row[1] + " | " + row[2] + " |  |  |\n")
			continue
		}
		if !strings.Contains(row[3], names[0]) {
			t.Errorf("the example of %s does not call it", names[0])
		}
		want.WriteString("| " + row[1] + " | " + row[2] + " | `" + row[3] + "` | " + rendered(t, row[3]) + " |\n")
	}
	testNames(t, named)
	if *update {
		if err := os.WriteFile(functionsPage, []byte(want.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want.String(), string(text)); diff != "" {
		t.Errorf("run make generate (-rendered +written):\n%s", diff)
	}
}

// TestPageTemplate renders the first template of the page.
func TestPageTemplate(t *testing.T) {
	text, err := os.ReadFile(functionsPage)
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(text), "```text\n")
	example, _, _ = strings.Cut(example, "```\n")
	t.Setenv("BACKEND_PORT", "8080")
	parsed, err := gotemplate.Parse(example, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := parsed.Execute(t.Context(), nil, 1<<10)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\n    docs:\n      rule: Host(`docs.example.com`)\n", "\n          - url: http://docs.internal:8080\n",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("got %s, want %q in it", out, want)
		}
	}
}

// rendered returns what an example gives, as a cell of the page.
func rendered(t *testing.T, example string) string {
	t.Helper()
	parsed, err := gotemplate.Parse(example, template.FuncMap{"split": strings.Split})
	if err != nil {
		t.Fatalf("%s: %v", example, err)
	}
	out, err := parsed.Execute(t.Context(), nil, 1<<10)
	if err != nil {
		t.Fatalf("%s: %v", example, err)
	}
	cell := strings.NewReplacer("\n", "⏎", "|", `\|`).Replace(string(out))
	if cell == "" {
		return ""
	}
	return "`" + cell + "`"
}

// testNames demands that all functions are named. A function that begins with must is explained with the other one.
func testNames(t *testing.T, named []string) {
	t.Helper()
	known := append(gotemplate.Names(), builtins...)
	for _, name := range known {
		base, must := strings.CutPrefix(strings.ReplaceAll(name, "_", ""), "must")
		without := func(one string) bool { return strings.EqualFold(strings.ReplaceAll(one, "_", ""), base) }
		if !slices.Contains(named, name) && (!must || !slices.ContainsFunc(named, without)) {
			t.Errorf("the page does not have %s", name)
		}
	}
	for i, name := range named {
		if !slices.Contains(known, name) || slices.Contains(named[:i], name) {
			t.Errorf("%s does not exist, or is on the page twice", name)
		}
	}
}
