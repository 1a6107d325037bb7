package annotation_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
)

var update = flag.Bool(
	"update", false, "write the tables of docs/migrate/ingress-nginx.md instead of comparing with them",
)

// TestDocumentationListsEveryKey demands that docs/migrate/ingress-nginx.md has a row for each annotation, old name
// and key of the ConfigMap, as the registry describes them.
func TestDocumentationListsEveryKey(t *testing.T) {
	page := filepath.Join("..", "..", "..", "..", "docs", "migrate", "ingress-nginx.md")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	want := string(text)
	for name, table := range map[string]string{
		"annotations": annotationTable(), "old names": retiredTable(), "ConfigMap": configTable(),
	} {
		begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->\n"
		before, rest, opened := strings.Cut(want, begin)
		_, after, closed := strings.Cut(rest, end)
		if !opened || !closed {
			t.Fatalf("%s has no place for the table of %s", page, name)
		}
		want = before + begin + table + end + after
	}
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("run make generate (-derived +written):\n%s", diff)
	}
}

// annotationTable has a row for each annotation, below the name of its group.
func annotationTable() string {
	var out strings.Builder
	group := ""
	for _, spec := range annotation.All() {
		if spec.Group != group {
			group = spec.Group
			fmt.Fprintf(&out, "\n### %s%s\n\n", strings.ToUpper(group[:1]), group[1:])
			out.WriteString("| annotation | risk | applies to | in Sluice | what it does |\n|---|---|---|---|---|\n")
		}
		name := "`" + spec.Name + "`"
		for _, alias := range spec.Aliases {
			name += ", `" + alias + "`"
		}
		support := spec.Support.String()
		if spec.Support == annotation.Refused && spec.Protects {
			support = "refused, 503"
		}
		what := spec.Means
		if spec.Note != "" {
			what += ". " + strings.ToUpper(spec.Note[:1]) + spec.Note[1:]
		}
		if spec.Replacement != "" {
			what += ". Instead: " + spec.Replacement
		}
		fmt.Fprintf(&out, "| %s | %s | %s | %s | %s |\n", name, spec.Risk, spec.Scope, support, cell(what))
	}
	return out.String() + "\n"
}

// retiredTable has a row for each old name.
func retiredTable() string {
	var out strings.Builder
	out.WriteString("| annotation | instead |\n|---|---|\n")
	for _, old := range annotation.AllRetired() {
		fmt.Fprintf(&out, "| `%s` | %s |\n", old.Name, cell(old.Replacement))
	}
	return out.String()
}

// configTable has a row for each key of the ConfigMap with an effect, and lists the others.
func configTable() string {
	var out strings.Builder
	idle := map[annotation.Effect][]string{}
	out.WriteString("| key | default | in Sluice |\n|---|---|---|\n")
	for _, key := range annotation.AllConfigKeys() {
		what := "read"
		switch key.Effect {
		case annotation.Static:
			what = "static configuration: " + key.Note
		case annotation.Missing:
			what = "not done: " + key.Note
		case annotation.Idle, annotation.Gone:
			idle[key.Effect] = append(idle[key.Effect], "`"+key.Name+"`")
			continue
		}
		value := ""
		if key.Default != "" {
			value = "`" + key.Default + "`"
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s |\n", key.Name, value, cell(what))
	}
	fmt.Fprintf(&out, "\nWithout an effect on answers: %s.\n", strings.Join(idle[annotation.Idle], ", "))
	fmt.Fprintf(&out, "\nNot read by ingress-nginx 1.15: %s.\n", strings.Join(idle[annotation.Gone], ", "))
	return out.String()
}

// cell is a text within a table, where * and < would mean something.
func cell(text string) string { return strings.NewReplacer("*", `\*`, "<", "&lt;").Replace(text) }
