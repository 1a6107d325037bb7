package file

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/static"
)

func TestTemplates(t *testing.T) {
	t.Setenv("SLUICE_TEST_HOST", "env.example")
	h := inDirectory(t, "a.yaml", `
http:
  routers:
{{- range $i, $name := split "one,two" "," }}
    {{ normalize (printf "r/%s" $name) }}: {rule: "{{ $name | upper }}", service: s}
{{- end }}
    env: {rule: '{{ env "SLUICE_TEST_HOST" }}'}
    wrong: {ruel: x}
`)
	m := h.next()
	if want := "env=env.example r-one=ONE r-two=TWO wrong="; rules(m) != want {
		t.Errorf("rules %s, want %s", rules(m), want)
	}
	if all := strings.Join(verdicts(m), "\n"); !strings.Contains(all,
		"a.yaml:7 (rendered): router wrong: ruel: unknown option") {
		t.Errorf("verdicts %s", all)
	}
}

// TestHostileTemplate proves that a template that would exhaust the process costs its own file alone.
func TestHostileTemplate(t *testing.T) {
	for _, text := range []string{
		`{{ range until 100000000 }}x{{ end }}`,
		`{{ repeat 60000000 "aaaaaaaaaa" }}`,
		`{{ $d := dict }}{{ $d = set $d "d" $d }}{{ $d }}`,
	} {
		h := inDirectory(t, "a.yaml", text)
		replace(t, h.path("b.yaml"), `http: {routers: {r: {rule: "1"}}}`)
		m := h.next()
		for rules(m) == "" {
			m = h.next()
		}
		all := strings.Join(verdicts(m), "\n")
		if rules(m) != "r=1" || !strings.Contains(all, "a.yaml:1: ") || !strings.Contains(all, "template: ") {
			t.Errorf("rules %s, verdicts %s", rules(m), all)
		}
	}
}

// TestUnchangedRendering proves that objects keep their pointer when a template generates the same text again.
func TestUnchangedRendering(t *testing.T) {
	h := inDirectory(t, "a.yaml", `http: {routers: {a: {rule: "{{ "x" }}"}, b: {rule: "1"}}}`)
	first := h.next()
	replace(t, h.path("a.yaml"), `http: {routers: {a: {rule: "{{ "y" }}"}, b: {rule: "{{ 1 }}"}}}`)
	second := h.next()
	if rules(second) != "a=y b=1" ||
		first.Configuration.HTTP.Routers.Get("b") != second.Configuration.HTTP.Routers.Get("b") {
		t.Errorf("rules %s, or the unchanged router has another pointer", rules(second))
	}
}

func TestBadTemplates(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"syntax", "a: 1\nb: {{ if }}\n", "x.yaml:2: "},
		{"unknown function", "a: 1\n\nb: {{ nothing }}\n", "x.yaml:3: "},
		{"execution", "a: 1\nb: {{ fail \"no way\" }}\n", "template: calls fail"},
		{"rendered", "a: {{ 1 }}\nb: [\n", "x.yaml:2 (rendered): "},
		{"too much", `{{ repeat 5000 "x" }}`, "template: generates too much: more than 1000 bytes"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "x.yaml")
			write(t, path, test.text)
			m := run(t, dir, static.FileProvider{Filename: path}, WithMaxFileSize(1000)).next()
			if all := strings.Join(verdicts(m), "\n"); !strings.Contains(all, test.want) {
				t.Errorf("verdicts %s, want %s", all, test.want)
			}
		})
	}
}

// lines collects what is logged.
type lines struct{ text chan string }

func (l lines) Debug(message string, keysAndValues ...any) {
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		if keysAndValues[i] == "content" {
			l.text <- message + ": " + keysAndValues[i+1].(string)
		}
	}
}

func (lines) Info(string, ...any)  {}
func (lines) Warn(string, ...any)  {}
func (lines) Error(string, ...any) {}

func TestDebugLogOfTemplatesHidesKeys(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.yaml")
	must(t, os.WriteFile(path, []byte(`{{ "generated" }}: |
  -----BEGIN CERTIFICATE-----
  public
  -----END CERTIFICATE-----
  -----BEGIN RSA PRIVATE KEY-----
  secret
  -----END RSA PRIVATE KEY-----
  -----BEGIN PRIVATE KEY-----
  secret that is cut off
`), 0o600))
	log := lines{text: make(chan string, 1)}
	p, err := New(static.FileProvider{Filename: path, DebugLogGeneratedTemplate: true}, log)
	must(t, err)
	p.scan(t.Context(), nil)
	got := <-log.text
	if strings.Contains(got, "secret") || !strings.Contains(got, "generated: |") || !strings.Contains(got, "public") {
		t.Errorf("logged %q", got)
	}
}
