package gotemplate_test

import (
	"reflect"
	"sync"
	"testing"
	"text/template"

	"github.com/sluiceproxy/sluice/provider/gotemplate"
)

// podData is the data of a template, with a method.
type podData struct {
	Name  string
	Part  *part
	Other map[string]any
	List  []part
}

type part struct{ Color string }

func (*part) Expensive() string { return "" }

func options() gotemplate.Options {
	return gotemplate.Options{
		Data:      reflect.TypeFor[podData](),
		Absent:    map[string]string{"Mesh": "of which nothing is known here"},
		Refused:   map[string]string{"env": "reads the environment"},
		Functions: template.FuncMap{"double": func(text string) string { return text + text }},
	}
}

func TestFieldsAndFunctionsAreCheckedBeforeARun(t *testing.T) {
	for text, want := range map[string]string{
		"{{ .Name }}{{ .Part.Color }}{{ .Other.a.b }}{{ range .List }}{{ .Color }}{{ $.Name }}{{ end }}": "",
		"{{ with .Part }}{{ .Anything }}{{ end }}{{ define `x` }}{{ .Other.Kind }}{{ end }}":             "",
		"\n{{ .Nme }}":                                "template: line 2: uses .Nme, which the data does not have, did you mean Name?",
		"{{ if .Part.Colour }}{{ end }}":              "template: line 1: uses .Part.Colour, which the data does not have, did you mean Color?",
		"{{ range .List }}\n{{ $.Part.X }}{{ end }}":  "template: line 2: uses .Part.X, which the data does not have",
		"{{ with .Name }}{{ else }}{{ .X }}{{ end }}": "template: line 1: uses .X, which the data does not have",
		"{{ print .Mesh.A }}":                         "template: line 1: uses .Mesh, of which nothing is known here",
		"{{ .Part.Expensive }}":                       "template: line 1: uses .Part.Expensive, which the data does not have",
		"{{ range .List }}{{ .Expensive }}{{ end }}":  "template: line 1: calls the method Expensive, which templates may not call",
		"{{ `x` | double }}\n\n{{ env `HOME` }}":      "template: line 3: calls env, which reads the environment",
	} {
		got := ""
		if _, err := gotemplate.ParseWith(text, options()); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestWorkIsLimitedByTheOptions(t *testing.T) {
	const loop = "{{ range 10000 }}x{{ end }}"
	rules := options()
	for work, fails := range map[int64]bool{0: false, 1000: true} {
		rules.Work = work
		parsed, err := gotemplate.ParseWith(loop, rules)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parsed.Execute(t.Context(), podData{}, 1<<20); (err != nil) != fails {
			t.Errorf("work %d: %v", work, err)
		}
	}
}

// TestRunsAreIndependent runs a template in several goroutines, each with data of its own.
func TestRunsAreIndependent(t *testing.T) {
	parsed, err := gotemplate.ParseWith("{{ range until 100 }}{{ double $.Name }}{{ end }}", options())
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for _, name := range []string{"a", "b", "c", "d"} {
		group.Go(func() {
			for range 20 {
				out, err := parsed.Execute(t.Context(), podData{Name: name}, 1<<20)
				if err != nil || len(out) != 200 || out[0] != name[0] || out[199] != name[0] {
					t.Errorf("%s: %q, %v", name, out, err)
					return
				}
			}
		})
	}
	group.Wait()
}
