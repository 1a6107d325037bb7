package gotemplate_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"
	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/provider/gotemplate"
)

// templates are rendered as by text/template.
var templates = []string{
	"plain",
	`{{ range $i, $e := list "a" "b" }}{{ $i }}={{ $e }};{{ else }}none{{ end }}`,
	`{{ range list }}x{{ else }}none{{ end }}{{ range .nothing }}x{{ else }}nothing{{ end }}`,
	`{{ range 3 }}{{ . }}{{ end }}{{ range $i := 2 }}{{ $i }}{{ end }}{{ range until 2 }}{{ . }}{{ end }}`,
	`{{ range $k, $v := .map }}{{ $k }}:{{ $v }} {{ end }}{{ range .map }}{{ . }}{{ break }}{{ end }}`,
	`{{ range until 5 }}{{ if eq . 1 }}{{ continue }}{{ end }}{{ if gt . 3 }}{{ break }}{{ end }}{{ . }}{{ end }}`,
	`{{ define "t" }}<{{ . }}>{{ end }}{{ template "t" "a" }}{{ template "t" }}{{ block "b" .text }}[{{ . }}]{{ end }}`,
	`{{ .nothing }}{{ .map.nothing }}{{ default "d" nil }}{{ .text | default "d" }}{{ $x := .nothing }}{{ $x }}`,
	`{{ eq .text "some text" }}{{ eq 1 1 }}{{ ne .number 2 }}{{ lt .number 7 }}{{ eq .nothing nil }}{{ eq .number 1 2 7 }}`,
	`{{ "some text" | eq .text }}{{ index .map "a" }}{{ index .list 1 }}{{ len .list }}{{ slice .list 1 2 }}{{ not true }}`,
	`{{ and .text .number }}{{ or "" .text }}{{ and false (fail "x") }}{{ or true (fail "x") }}`,
	`{{ .time.Year }}{{ (.time.UTC).Format "2006-01-02" }}{{ .time.Format "15" | printf "%5s" }}{{ .time }}`,
	`{{ printf "%05d|%-4s|%v|%q" 42 "a" .list .text }}{{ print 1 2 "x" }}{{ println }}{{ html "<a>" }}{{ js "'" }}`,
	`{{ with .map }}{{ .a }}{{ with $.text }}{{ . }}{{ end }}{{ else }}none{{ end }}{{ if not .text }}a{{ else if ` +
		`.text }}b{{ end }}`,
	`{{ $d := dict "a" 1 "b" (list 1 2) }}{{ $_ := set $d "c" "x" }}{{ $d }}{{ toJson $d }}{{ $d.b }}{{ get $d "a" }}`,
	`{{ toPrettyJson .map }}{{ fromJson "[1, {\"a\": null}]" }}{{ keys (dict "a" 1) }}{{ .list | join "-" }}`,
	`{{ splitList "," "a,b" }}{{ (split "," "a,b")._1 }}{{ append .list 3 | reverse }}{{ first .list }}{{ last .list }}`,
	`{{ regexReplaceAll "a(.)" "abac" "${1}x" }}{{ regexMatch "^a" "ab" }}{{ regexFindAll "a." "abac" -1 }}`,
	`{{ upper "a" }}{{ indent 2 "a\nb" }}{{ nindent 1 "x" }}{{ replace "a" "b" "aa" }}{{ repeat 3 "ab" }}{{ trunc 1 ` +
		`"ab" }}`,
	`{{ seq 3 }}{{ seq 1 2 7 }}{{ untilStep 0 6 2 }}{{ add 1 2 }}{{ mulf 1.5 2 }}{{ round 1.25 1 }}{{ max 1 5 }}`,
	`{{ wrapWith 3 "-" "abcdef" }}{{ ternary "a" "b" true }}{{ sha256sum "a" }}{{ b64enc "a" }}{{ semverCompare "^1" ` +
		`"1.2.3" }}`,
	`{{- /* a comment }} {{ if */ -}} x {{- "}}" }}{{ "\"" }}{{ '"' }}{{ ` + "`{{ if`" + ` }}`,
	`{{ (list 1 2) }}{{ (index .list 0) }}{{ $x := 1 }}{{ $x = 2 }}{{ $x }}{{ 1 | add 2 | add 3 }}{{ uniq (list 1 1 2) }}`,
	`{{ $a := append (list 1) 2 }}{{ $b := append $a 3 }}{{ $c := append $a nil }}{{ $d := push $b 5 }}{{ $a }}{{ $b ` +
		`}}{{ $c }}{{ $d }}`,
	`{{ $a := list 1 nil 3 }}{{ $b := append (slice $a 0 1) 4 }}{{ $c := append (append $a 5) 6 }}{{ $d := append ` +
		`(slice $c 0 4) 7 }}` +
		`{{ $a }}{{ $b }}{{ $c }}{{ $d }}{{ append .list "z" }}`,
	`{{ .time.UTC.Format "2006" }}{{ (.time.Add (.time.Sub .time)).Weekday }}{{ $t := .time }}{{ $t.Month }}{{ ` +
		`$t.Location }}` +
		`{{ (semver "1.2.3").IncMinor }}{{ ($t.AddDate 1 0 0).Sub $t }}`,
	`{{ printf "%[2]*[1]d|%6.2f|%x|%5v|%%5|%" 12 6 1.5 "ab" .list }}{{ trimAll "é$" "é5$" }}{{ without .list "x" }}`,
	`{{ $d := dict "a" (dict "b" 1) }}{{ merge $d (dict "a" (dict "c" 2) "d" 3) }}{{ $d }}{{ unset $d "a" }}{{ dig ` +
		`"x" "none" $d }}`,
	expressions,
	`{{ empty .nothing }}{{ coalesce "" .text }}{{ kindOf .list }}{{ .nothing | toJson }}{{ quote .nothing "a" }}{{ ` +
		`cat "a" nil 1 }}`,
}

// expressions calls all functions for regular expressions, with many combinations of an expression and a text.
const expressions = `{{ range $e := .expressions }}{{ range $t := $.texts }}
{{ regexMatch $e $t }} {{ regexFind $e $t | quote }}
{{- range $n := list -1 0 1 2 3 }} {{ regexFindAll $e $t $n | toJson }} {{ mustRegexSplit $e $t $n | toJson }}{{ end }}
{{ regexReplaceAll $e $t "<$0|${1}|$name>" }} {{ regexReplaceAllLiteral $e $t "<$0>" }}
{{- end }}{{ end }}`

func data() map[string]any {
	return map[string]any{
		"text": "some text", "number": 7, "list": []string{"x", "y"}, "map": map[string]any{"b": 1.5, "a": "z"},
		"expressions": []string{
			"", "a", "a*", "a*?", "a+", "(a)(b)?", "(?P<name>b+)", "^a", "a$", "(?m)^a", "(?m)a$", `\b`, `\B`, `\ba`, "^", "$",
			`\A`, `\z`,
			"a*b|a", "a|ab", "é", ".", "(?s).", "[^a]", "(?i)A", `\Qa.b`, "(?:)|b", "x*", `\s*,\s*`, "(?U)a+", "(|a)*",
			"[[:alpha:]]+",
		},
		"texts": []string{"", "a", "aaa", "ab", "baaac", "a\nab\na", "éaé\xffa", "a.b, c ,a.b", "aabaab", "日本a語"},
		"time":  time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC),
	}
}

func TestRendersAsTextTemplate(t *testing.T) {
	for _, text := range templates {
		var want bytes.Buffer
		reference := template.Must(template.New("reference").Funcs(sprig.TxtFuncMap()).Parse(text))
		if err := reference.Execute(&want, data()); err != nil {
			t.Errorf("text/template: %v", err)
		}
		parsed, err := gotemplate.Parse(text, nil)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for range 2 { // A template can be run more than once.
			got, err := parsed.Execute(t.Context(), data(), 1_000_000)
			if err != nil {
				t.Errorf("%s: %v", text, err)
			}
			if diff := cmp.Diff(want.String(), string(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", text, diff)
			}
		}
	}
}

// TestManyObjects proves that the limits allow templates that generate large configurations.
func TestManyObjects(t *testing.T) {
	out, err := render(`http:
  routers:
{{- range $i := until 5000 }}
    {{ printf "router-%05d" $i }}:
      rule: {{ printf "Host(%s) && PathPrefix(%s)" (quote (print "host-" $i ".example")) (quote "/" $i) }}
      service: {{ if eq (mod $i 2) 0 }}{{ "even" | upper | lower }}{{ else }}{{ list "o" "d" "d" | join "" }}{{ end }}
{{- end }}`)
	if err != nil || strings.Count(string(out), "rule:") != 5000 {
		t.Errorf("%d bytes, error %v", len(out), err)
	}
}

func TestFunctions(t *testing.T) {
	parsed, err := gotemplate.Parse(`{{ normalize "a/b_c.d" }} {{ normalize "--é1--" }} {{ split "a,b" "," }} {{ own }}`,
		template.FuncMap{"split": strings.Split, "own": func() string { return "mine" }})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := parsed.Execute(t.Context(), nil, 100); err != nil || string(out) != "a-b-c-d é1 [a b] mine" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestOutputLimit(t *testing.T) {
	parsed, err := gotemplate.Parse(`{{ repeat 10 "x" }}`, nil)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := parsed.Execute(t.Context(), nil, 10); err != nil || len(out) != 10 {
		t.Errorf("%d bytes, %v", len(out), err)
	}
	if _, err := parsed.Execute(t.Context(), nil, 9); err == nil ||
		err.Error() != "template: line 1: generates too much: more than 9 bytes" {
		t.Errorf("error %v", err)
	}
}

func TestErrorsShowNoValue(t *testing.T) {
	t.Setenv("SLUICE_TEST_SECRET", "hunter2")
	tests := []struct{ text, want string }{
		{"a\n{{ if }}", "line 2: has an action or parentheses without a value"},
		{`{{ hunter2 }}`, "line 1: calls an unknown function"},
		{`{{ uper "hunter2" }}`, `line 1: calls an unknown function, did you mean "upper"?`},
		{`{{ $hunter2 }}`, "line 1: uses a variable that is not declared"},
		{`{{ "hunter2 }}`, "line 1: has a text without its closing quote"},
		{`{{ "hunter2\`, "line 1: has a text without its closing quote"},
		{`{{ 12hunter2 }}`, "line 1: has a malformed number"},
		{`{{ @hunter2 }}`, "line 1: has a syntax error in an action"},
		{`{{ "hunter2" "hunter2" }}`, "line 1: cannot be evaluated"},
		{"{{ if 1 }}\nhunter2", "line 2: ends within a block: {{ end }} is missing"},
		{"\n\n{{ fail (env \"SLUICE_TEST_SECRET\") }}", "line 3: calls fail"},
		{
			`{{ env "SLUICE_TEST_SECRET" | mustFromJson }}`,
			"line 1: function mustFromJson fails, or has the wrong number of arguments",
		},
		{`{{ env "SLUICE_TEST_SECRET" | mustRegexFind "(hunter2" }}`, "function mustRegexFind fails"},
		{`{{ upper "hunter2" "hunter2" }}`, "function upper fails"},
		{`{{ template "hunter2" }}`, "line 1: calls a template that is not defined"},
		{`{{ (env "SLUICE_TEST_SECRET").hunter2 }}`, "line 1: uses a field of a value that has none of that name"},
		{
			`{{ range env "SLUICE_TEST_SECRET" }}{{ end }}`,
			"line 1: has a {{ range }} over something that is no list, map or number",
		},
		{`{{ define "hunter2: 7" }}` + "\n" + `{{ fail "hunter2" }}{{ end }}{{ template "hunter2: 7" }}`, "calls fail"},
		{`{{ index (dict) (env "SLUICE_TEST_SECRET") "x" }}`, "line 1: function index fails"},
		{
			`{{ getHostByName "hunter2.invalid:" }}`,
			"line 1: calls getHostByName for a name that could not be resolved in time",
		},
	}
	for _, test := range tests {
		_, err := render(test.text)
		if _, ok := errors.AsType[*gotemplate.Error](err); !ok {
			t.Errorf("%s: error %v, want an *Error", test.text, err)
			continue
		}
		if text := fmt.Sprint(err); !strings.Contains(text, test.want) || strings.Contains(text, "hunter2") {
			t.Errorf("%s: error %q, want %q", test.text, text, test.want)
		}
	}
}
