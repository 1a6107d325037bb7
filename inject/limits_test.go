package inject_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/sluiceproxy/sluice/inject"
)

// TestTemplatesAreLimited runs templates that would not end, or would fill the memory.
func TestTemplatesAreLimited(t *testing.T) {
	for text, want := range map[string]string{
		`{{ range until 100000000 }}x{{ end }}`:                                             "needs too much memory",
		`{{ range 100000000000 }}{{ end }}`:                                                 "does too much",
		`{{ range 100 }}{{ repeat 20000 "x" }}{{ end }}`:                                    "generates too much: more than 1048576 bytes",
		`{{ $x := "aaaaaaaa" }}{{ range 40 }}{{ $x = print $x $x }}{{ end }}`:               "",
		`{{ define "x" }}{{ template "x" }}{{ end }}{{ template "x" }}`:                     "calls templates more than 100 levels deep",
		`{{ range 1000000 }}{{ $y := toYaml $.Spec }}{{ end }}`:                             "does too much",
		`{{ range 1000000 }}{{ $y := toJSON $.ObjectMeta }}{{ end }}`:                       "does too much",
		`{{ range 1000000 }}{{ $y := applicationPorts $.Spec.Containers }}{{ end }}`:        "does too much",
		`{{ $x := dict }}{{ range 1000000 }}{{ $y := omitNil $.Values }}{{ end }}`:          "does too much",
		`{{ $x := strdict "a" "b" }}{{ range 1000000 }}{{ $x = mergeMaps $x $x }}{{ end }}`: "does too much",
	} {
		config, err := inject.Parse([]byte("policy: enabled\ndefaultTemplates: [x]\ntemplates: {x: '"+text+"'}\n"),
			[]byte("a: {b: c}\n"))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if _, err := config.Inject(input(t, pod("", ""))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestConfigurationIsImmutable runs templates that change the values and the pod, in several goroutines.
func TestConfigurationIsImmutable(t *testing.T) {
	config, err := inject.Parse([]byte(`
policy: enabled
defaultTemplates: [x, y]
templates:
  x: |
    metadata: {labels: {seen: "{{ .Values.a.b }}"}}
    {{ $_ := set .Values.a "b" "changed" }}{{ $_ := set .Values "c" (list) }}{{ $_ := unset .Values "a" }}
  y: |
    metadata: {annotations: {seen: "{{ .Values.a.b }}"}}
`), []byte("a: {b: original}\n"))
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 10 {
				result, err := config.Inject(inject.Input{Pod: []byte(`{"spec":{"containers":[{"name":"a","image":"b"}]}}`)})
				if err != nil || strings.Contains(string(result.Patch), "changed") ||
					strings.Count(string(result.Patch), "original") != 2 {
					t.Errorf("%s, %v", result.Patch, err)
					return
				}
			}
		})
	}
	group.Wait()
}
