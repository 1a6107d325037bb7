package reference

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
)

var update = flag.Bool("update", false, "write the tables of docs/reference/dynamic.md instead of comparing with them")

const (
	root        = "../.."
	dynamicPage = root + "/docs/reference/dynamic.md"
)

// TestDynamicReference keeps the tables of docs/reference/dynamic.md equal to the types of the model.
func TestDynamicReference(t *testing.T) {
	r := reader{readComments(t, root+"/dynamic")}
	text, err := os.ReadFile(dynamicPage)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for _, one := range sections() {
		page = fill(t, page, one.name, one.text(t, r))
	}
	page = fill(t, page, "middlewares", kinds(t, r))
	if *update {
		if err := os.WriteFile(dynamicPage, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(page, string(text)); diff != "" {
		t.Errorf("run make generate (-derived +written):\n%s", diff)
	}
}

// fill puts a text between the two comments of its name in a page.
func fill(t *testing.T, page, name, text string) string {
	t.Helper()
	begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->\n"
	before, rest, opened := strings.Cut(page, begin)
	_, after, closed := strings.Cut(rest, end)
	if !opened || !closed {
		t.Fatalf("the page has no place for %s", name)
	}
	return before + begin + text + end + after
}

// text returns where the options of a section are written, and the table of them.
func (s section) text(t *testing.T, r reader) string {
	t.Helper()
	var options []option
	for _, one := range r.options(s.of, "") {
		if s.only == "" || one.path == s.only {
			options = append(options, one)
		}
	}
	if len(options) == 0 {
		t.Fatalf("%s has no options", s.name)
	}
	page := &strings.Builder{}
	fmt.Fprintf(page, "- File: `%s`\n", s.file)
	if s.label != "" {
		fmt.Fprintf(page, "- Label: `%s<option>`\n", s.label)
	}
	if s.resource != nil {
		page.WriteString(s.resource.line(t, options))
	}
	page.WriteString("\n| option | type | default | meaning |\n|---|---|---|---|\n")
	for _, one := range options {
		if one.meaning == "" {
			t.Errorf("%s: the comment of %s does not begin with the name of the field", s.name, one.path)
		}
		fmt.Fprintf(page, "| `%s` | %s | %s | %s |\n", one.path, one.kind, quoted(one.standard), one.meaning)
	}
	return page.String()
}

// quoted prints a default as a cell.
func quoted(standard string) string {
	if standard == "" || standard == required {
		return standard
	}
	return "`" + standard + "`"
}

// line says where a custom resource has the options of a section.
func (r *resource) line(t *testing.T, options []option) string {
	t.Helper()
	var renamed, missing []string
	for _, one := range options {
		other, listed := r.elsewhere[one.path]
		switch {
		case covered(one.path, r.elsewhere) || covered(one.path, setOf(missing)):
		case listed && other == "":
			missing = append(missing, one.path)
		case listed:
			target := other
			if !strings.HasPrefix(other, "spec.") {
				target = r.path + "." + other
			}
			if !exists(r.of, target) {
				t.Errorf("%s has no %s", r.kind, target)
			}
			renamed = append(renamed, fmt.Sprintf("`%s` is `%s`", one.path, other))
		case !exists(r.of, r.path+"."+one.path):
			missing = append(missing, one.path)
		}
	}
	text := fmt.Sprintf("- Custom resource: `%s`, `%s`, with the same names", r.kind, r.path)
	if len(renamed) > 0 {
		text += ", except: " + strings.Join(renamed, ", ")
	}
	text += "."
	if len(missing) > 0 {
		text += " Not in custom resources: `" + strings.Join(missing, "`, `") + "`."
	}
	return text + "\n"
}

func setOf(paths []string) map[string]string {
	set := map[string]string{}
	for _, path := range paths {
		set[path] = ""
	}
	return set
}

// covered reports whether a section around the option is one of the listed ones.
func covered(path string, listed map[string]string) bool {
	for at := strings.LastIndexByte(path, '.'); at >= 0; at = strings.LastIndexByte(path[:at], '.') {
		if _, is := listed[path[:at]]; is {
			return true
		}
	}
	return false
}

// exists reports whether a type has a field of that path.
func exists(of reflect.Type, path string) bool {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map {
		of = of.Elem()
	}
	if path == "" || path == "<name>" {
		return true
	}
	if of.Kind() != reflect.Struct {
		return false
	}
	key, rest, _ := strings.Cut(path, ".")
	key = strings.TrimSuffix(key, "[0]")
	for i := range of.NumField() {
		field := of.Field(i)
		name, tag, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == key && exists(field.Type, rest) || strings.Contains(tag, "inline") && exists(field.Type, path) {
			return true
		}
	}
	return false
}

// kinds returns the table of middlewares: each kind with its options, whose meaning is on its own page.
func kinds(t *testing.T, r reader) string {
	t.Helper()
	page := &strings.Builder{}
	page.WriteString("| kind | options with type and default |\n|---|---|\n")
	of := reflect.TypeFor[dynamic.Middleware]()
	for i := range of.NumField() {
		field := of.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Type.Kind() != reflect.Pointer {
			continue
		}
		folder, cell := strings.ToLower(name), "`"+name+"`"
		switch name {
		case "chain":
			folder = ""
		case "ipWhiteList":
			folder = "ipallowlist"
		}
		if folder != "" {
			cell = fmt.Sprintf("[%s](../../middleware/%s/README.md)", cell, folder)
		}
		var options []string
		for _, one := range r.options(field.Type.Elem(), "") {
			if one.kind != "section" {
				options = append(options, describe(one))
			}
			if folder != "" {
				explained(t, folder, one)
			}
		}
		fmt.Fprintf(page, "| %s | %s |\n", cell, strings.Join(options, "<br>"))
	}
	return page.String()
}

// describe prints an option of a middleware: its name, its type and its default.
func describe(one option) string {
	text := fmt.Sprintf("`%s` %s", one.path, one.kind)
	switch one.standard {
	case "", "false", "0", "0s":
		return text
	}
	return text + ", " + quoted(one.standard)
}

// explained demands that the README of a middleware names an option.
func explained(t *testing.T, folder string, one option) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "middleware", folder, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	keys := strings.Split(strings.ReplaceAll(strings.TrimSuffix(one.path, ".<name>"), "[0]", ""), ".")
	if !strings.Contains(string(text), keys[len(keys)-1]) {
		t.Errorf("middleware/%s/README.md does not explain %s", folder, one.path)
	}
}
