package gotemplate_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"text/template"

	"github.com/sluiceproxy/sluice/provider/gotemplate"
)

// attacks are templates that take a process down where nothing limits them.
var attacks = []struct{ name, text string }{
	{"loop over a list", `{{ range until 100000000 }}x{{ end }}`},
	{"loop over a number", `{{ range 100000000 }}x{{ end }}`},
	{"loop over a number without output", `{{ range 100000000000 }}{{ end }}`},
	{"loop that continues", `{{ range 100000000000 }}{{ continue }}{{ end }}`},
	{"loop with conditions", `{{ range 100000000 }}` + strings.Repeat(`{{ if $ }}{{ end }}`, 10000) + `{{ end }}`},
	{"nested loops", `{{ range until 10000 }}{{ range until 10000 }}{{ range until 10000 }}{{ end }}{{ end }}{{ end }}`},
	{"repeat", `{{ repeat 60000000 "aaaaaaaaaa" }}`},
	{"repeat beyond integers", `{{ repeat 9223372036854775807 "aa" }}`},
	{"repeat that is measured only", `{{ len (repeat 600000000 "aaaaaaaaaa") }}`},
	{"doubling", `{{ $x := "aaaaaaaa" }}{{ range 40 }}{{ $x = print $x $x }}{{ end }}`},
	{"doubling by cat", `{{ $x := "aaaaaaaa" }}{{ range 40 }}{{ $x = cat $x $x }}{{ end }}`},
	{"doubling by join", `{{ $x := "aaaaaaaa" }}{{ range 40 }}{{ $x = join $x (list $x $x) }}{{ end }}`},
	{"doubling by replace", `{{ $x := "aaaaaaaa" }}{{ range 40 }}{{ $x = replace "a" $x $x }}{{ end }}`},
	{"doubling by concat", `{{ $x := list 1 }}{{ range 40 }}{{ $x = concat $x $x }}{{ end }}`},
	{"list that holds itself twice", `{{ $x := list 1 }}{{ range 60 }}{{ $x = list $x $x }}{{ end }}{{ $x }}`},
	{"list that is converted", `{{ $x := list 1 }}{{ range 60 }}{{ $x = list $x $x }}{{ end }}{{ len (toJson $x) }}`},
	{"list that is copied", `{{ $x := list 1 }}{{ range 60 }}{{ $x = list $x $x }}{{ end }}{{ $y := deepCopy $x }}`},
	{"map that contains itself", `{{ $x := dict }}{{ $y := set $x "a" $x }}{{ $x }}`},
	{"map that contains itself, as a key", `{{ $x := dict }}{{ $y := set $x "a" $x }}{{ $z := dict $x 1 }}`},
	{"map that contains itself, as text", `{{ $x := dict }}{{ $y := set $x "a" $x }}{{ $z := toString $x }}`},
	{
		"map that contains itself, merged",
		`{{ $x := dict }}{{ $y := set $x "a" $x }}{{ $z := merge (dict "a" (dict)) $x }}`,
	},
	{"deep value", `{{ $x := list }}{{ range 1000000 }}{{ $x = list $x }}{{ end }}{{ $x }}`},
	{"appended list", `{{ $x := list }}{{ range 100000 }}{{ $x = append $x 1 }}{{ end }}`},
	{"kept texts", `{{ $x := list }}{{ range 100000 }}{{ $x = append $x (repeat 100000 "a") }}{{ end }}`},
	{"widths", `{{ printf "` + strings.Repeat("%999999d", 10000) + `" 1 }}`},
	{"one width", `{{ printf "%1000000000d" 1 }}{{ range 1000 }}{{ $x := printf "%999999d" 1 }}{{ end }}`},
	{"width as an argument", `{{ $f := repeat 10000 "%*d" }}{{ printf $f 999999 1 }}`},
	{"indexes", `{{ $x := repeat 1000000 "a" }}{{ $f := repeat 100000 "%[1]s" }}{{ printf $f $x }}`},
	{"indent", `{{ indent 1000000000 "x" }}`},
	{"indent lines", `{{ indent 100000 (repeat 100000 "x\n") }}`},
	{"nindent", `{{ nindent 1000000000 "x" }}`},
	{"wrapWith", `{{ wrapWith 1 (repeat 100000 "b") (repeat 100000 "a") }}`},
	{"untilStep that overflows", `{{ $x := untilStep 0 -9223372036854775807 -4000000000000000000 }}`},
	{"seq", `{{ seq 1 10000000000 }}`},
	{"random text", `{{ randAlphaNum 1000000000 }}`},
	{"random bytes", `{{ randBytes 1000000000 }}`},
	{"keys", `{{ range 100 }}{{ $x := genPrivateKey "rsa" }}{{ end }}`},
	{"passwords", `{{ range 10000 }}{{ $x := bcrypt "x" }}{{ end }}`},
	{"derived passwords", `{{ range 1000 }}{{ $x := derivePassword 1 "long" "a" "b" "c" }}{{ end }}`},
	{"pattern", `{{ regexMatch "(((a{10}){10}){10}){10}" "a" }}{{ regexMatch "` + strings.Repeat("a{1000}", 500) +
		`" "a" }}`},
	{
		"text of a pattern",
		`{{ $x := repeat 1000000 "a" }}{{ range 100000 }}{{ $y := regexMatch "(a|aa|aaa)*b" $x }}{{ end }}`,
	},
	{"replacement", `{{ regexReplaceAll "a" (repeat 10000 "a") (repeat 100000 "b") }}`},
	{"replacement with groups", `{{ regexReplaceAll "a+" (repeat 100000 "a") (repeat 100000 "$0") }}`},
	{"matches", `{{ $x := regexFindAll "a*b|a" (repeat 20000 "a") -1 }}`},
	{"matches that must compile", `{{ $x := mustRegexFindAll "a*b|a" (repeat 20000 "a") -1 }}`},
	{"split at matches", `{{ $x := regexSplit "a*b|a" (repeat 20000 "a") -1 }}`},
	{"replaced matches", `{{ $x := regexReplaceAll "a*b|a" (repeat 20000 "a") "" }}`},
	{"replaced matches, literally", `{{ $x := regexReplaceAllLiteral "a*b|a" (repeat 20000 "a") "" }}`},
	{"groups", `{{ regexFindAll "` + strings.Repeat("(", 400) + "a*" + strings.Repeat(")", 400) +
		`" (repeat 20000 "a") -1 }}`},
	{"width of elements", `{{ $x := printf "%999999v" (until 300) }}`},
	{"width of bytes", `{{ $x := printf "%9999v" .bytes }}`},
	{"width of elements, as an argument", `{{ $x := printf "%*v" 999999 (until 300) }}`},
	{"width behind a flag", `{{ $x := printf "%+-999999d" (until 300) }}`},
	{"cutset", `{{ $x := repeat 20000 "\u00e9" }}{{ trimAll $x $x }}`},
	{"cutset of the old function", `{{ $x := repeat 20000 "\u00e9" }}{{ trimall $x $x }}`},
	{"method that appends", `{{ $t := now }}{{ $b := $t.MarshalJSON }}{{ $b = $t.AppendFormat $b "x" }}`},
	{"method that appends, of a result", `{{ now.AppendText nil }}`},
	{"method that converts", `{{ range 1000000 }}{{ $x := (now).MarshalText }}{{ end }}`},
	{"method of a version", `{{ $v := semver "1.2.3" }}{{ $v.UnmarshalJSON nil }}`},
	{"method with a constant", `{{ range 1000 }}{{ $x := now.Format "` + strings.Repeat("2006", 25000) + `" }}{{ end }}`},
	{"comparison of constants", `{{ range 1000 }}{{ if eq "` + strings.Repeat("a", 100000) + `" "` + strings.Repeat("a",
		100000) +
		`" }}{{ end }}{{ end }}`},
	{"declared variables", strings.Repeat(`{{$a:=1}}`, 20000) + strings.Repeat(`{{$b}}`, 40000)},
	{"declared variables in a range", strings.Repeat(`{{range $a,$b:=.}}`, 100) + strings.Repeat(`{{$c:=1}}`, 20000) +
		strings.Repeat(`{{$a}}`, 40000) + strings.Repeat(`{{end}}`, 100)},
	{"JSON", `{{ $x := fromJson (print (repeat 5000 "[") (repeat 5000 "]")) }}{{ $x }}`},
	{"JSON of many", `{{ $x := fromJson (print "[" (repeat 3000000 "{},") "{}]") }}`},
	{"split", `{{ $x := splitList "" (repeat 100000000 "a") }}`},
	{"uniq", `{{ $x := uniq (until 1000000) }}`},
	{"decimals", `{{ mulf ` + strings.Repeat("1e308 ", 100000) + `}}`},
	{
		"comparison",
		`{{ $a := repeat 1000000 "a" }}{{ $b := print $a "" }}{{ range 100000000 }}{{ if eq $a $b }}{{ end }}{{ end }}`,
	},
	{"scan", `{{ $a := repeat 1000000 "a" }}{{ range 100000000 }}{{ if contains "b" $a }}{{ end }}{{ end }}`},
	{"sorted maps", `{{ $d := dict }}{{ range until 3000 }}{{ $x := set $d (print .) 1 }}{{ end }}` +
		`{{ range 1000000 }}{{ range $d }}{{ break }}{{ end }}{{ end }}`},
	{"method", `{{ $a := repeat 8000000 "a" }}{{ $l := list }}{{ range 100000 }}{{ $l = append $l (now.Format $a) ` +
		`}}{{ end }}`},
	{"version", `{{ $v := semver (print "1.2.3-" (repeat 8000000 "a")) }}{{ $l := list }}` +
		`{{ range 1000 }}{{ $l = append $l $v.String }}{{ end }}`},
	{"recursion", `{{ define "a" }}{{ template "a" }}{{ end }}{{ template "a" }}`},
	{
		"recursion that branches",
		`{{ define "a" }}{{ if lt . 90 }}{{ template "a" (add . 1) }}{{ template "a" (add . 1) }}` +
			`{{ end }}{{ end }}{{ template "a" 0 }}`,
	},
	{"nested blocks", strings.Repeat(`{{ if 1 }}`, 500000)},
	{"nested blocks that are closed", strings.Repeat(`{{ with 1 }}`, 10000) + strings.Repeat(`{{ end }}`, 10000)},
	{"chained blocks", `{{ if 0 }}` + strings.Repeat(`{{ else if 0 }}`, 60000) + `{{ end }}`},
	{"parentheses", `{{ ` + strings.Repeat(`(`, 1000000) + `1` + strings.Repeat(`)`, 1000000) + ` }}`},
	{"many actions", strings.Repeat(`{{1}}`, 4000000)},
	{"variables", variables()},
	{"environment", `{{ $a := repeat 100000000 "$PATH " }}{{ expandenv $a }}`},
}

func variables() string {
	name := "$" + strings.Repeat("a", 200)
	return strings.Repeat(`{{ `+name+`b := 1 }}`, 1000) + `{{ range 100000000 }}` + strings.Repeat(`{{ if `+name+
		`b }}{{ end }}`, 1000) + `{{ end }}`
}

// render parses and runs a template as the provider of files does.
func render(text string) ([]byte, error) {
	parsed, err := gotemplate.Parse(text, template.FuncMap{"split": strings.Split})
	if err != nil {
		return nil, err
	}
	return parsed.Execute(context.Background(), nil, 32<<20)
}

// attackWork is the work that templates may do here; it takes some milliseconds.
const attackWork = 200_000

// attack runs a template that is to fail.
func attack(text string, data any) error {
	parsed, err := gotemplate.Parse(text, nil)
	if err != nil {
		return err
	}
	parsed.SetWork(attackWork)
	_, err = parsed.Execute(context.Background(), data, 1<<20)
	return err
}

// mostAllocated is more than any template may allocate in total, garbage included.
const mostAllocated = 2 << 30

func TestAttacksFail(t *testing.T) {
	for _, test := range attacks {
		t.Run(test.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := attack(test.text, map[string]any{"bytes": make([]byte, 100_000)})
			runtime.ReadMemStats(&after)
			if _, ok := errors.AsType[*gotemplate.Error](err); !ok {
				t.Errorf("error %v, want an *Error", err)
			}
			if allocated := after.TotalAlloc - before.TotalAlloc; allocated > mostAllocated {
				t.Errorf("allocates %d MiB", allocated>>20)
			}
		})
	}
}

// TestStops proves that a run ends with its context.
func TestStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	parsed, err := gotemplate.Parse(`{{ range 1000 }}{{ $x := stop }}{{ end }}`, template.FuncMap{"stop": func() string {
		calls++
		cancel()
		return ""
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parsed.Execute(ctx, nil, 100); err == nil || err.Error() != "template: line 1: was stopped" ||
		calls != 1 {
		t.Errorf("error %v after %d calls", err, calls)
	}
}

// TestCorrectTemplates proves that the limits allow what large templates do.
func TestCorrectTemplates(t *testing.T) {
	tests := map[string]string{
		"digits outside of verbs": `{{ range 3500 }}{{ $x := printf "http://127.0.0.1:65535/%d/app-20240101" . }}{{ end }}`,
		"widths of text":          `{{ range 10000 }}{{ $x := printf "%-40s|%*d" "a" 5 . }}{{ end }}`,
		"map with many keys":      `{{ $d := dict }}{{ range 20000 }}{{ $x := set $d (print "key-" .) . }}{{ end }}`,
		"large value of a map":    `{{ $d := dict "a" (repeat 4096 "b") }}{{ range 40000 }}{{ $x := get $d "a" }}{{ end }}`,
		"large default":           `{{ $d := repeat 4096 "b" }}{{ range 40000 }}{{ $x := default $d "" }}{{ end }}`,
		"large first element":     `{{ $l := list (repeat 4096 "b") }}{{ range 40000 }}{{ $x := first $l }}{{ end }}`,
		"large last element":      `{{ $l := list (repeat 4096 "b") }}{{ range 40000 }}{{ $x := last $l }}{{ end }}`,
		"large choice":            `{{ $d := repeat 4096 "b" }}{{ range 40000 }}{{ $x := ternary $d "" true }}{{ end }}`,
		"large first value":       `{{ $d := repeat 4096 "b" }}{{ range 40000 }}{{ $x := coalesce "" $d }}{{ end }}`,
		"appended list":           `{{ $l := list }}{{ range 20000 }}{{ $l = append $l . }}{{ end }}`,
		"appended to strings": `{{ $l := splitList "," (repeat 1000 "a,") }}{{ range 5000 }}{{ $l = append $l "a" ` +
			`}}{{ end }}`,
		"appended bytes":        `{{ $l := list }}{{ range 5000 }}{{ $l = append $l $.bytes }}{{ end }}`,
		"prepended bytes":       `{{ range 5000 }}{{ $l := prepend list $.bytes }}{{ end }}`,
		"list without elements": `{{ $l := until 1000 }}{{ range 100 }}{{ $x := without $l 1 2 3 }}{{ end }}`,
		"large text without a": `{{ $l := list (repeat 100000 "a") "b" }}{{ range 100 }}{{ $x := without $l "b" }}{{ ` +
			`end }}`,
		"merged maps": `{{ $d := dict }}{{ range 500 }}{{ $d = merge $d (dict (print .) "value") }}{{ end }}`,
		"normalized names": `{{ range 5000 }}{{ $x := print "Some_Name-" . | lower | regexReplaceAll ` +
			`"[^a-z0-9]+" "-" }}{{ end }}`,
		"matches in a large text":  `{{ $x := regexSplit "\\s*,\\s*" (repeat 20000 "name , ") -1 }}`,
		"replaced in a large text": `{{ $x := regexReplaceAll "([0-9]+)" (repeat 20000 "a123 ") "<$1>" }}`,
		"many variables":           strings.Repeat(`{{ $a := 1 }}{{ $a }}`, 1000),
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			parsed, err := gotemplate.Parse(text, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := parsed.Execute(t.Context(), map[string]any{"bytes": make([]byte, 10_000)}, 100_000); err != nil {
				t.Error(err)
			}
		})
	}
}

// FuzzTemplate looks for templates that do not end or that take the process down.
func FuzzTemplate(f *testing.F) {
	for _, test := range attacks {
		if len(test.text) < 1000 {
			f.Add(test.text)
		}
	}
	for _, test := range templates {
		f.Add(test)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "getHostByName") {
			t.Skip("getHostByName sends requests to the resolver of this machine")
		}
		err := attack(text, map[string]any{"a": "b"})
		if _, ok := errors.AsType[*gotemplate.Error](err); err != nil && !ok {
			t.Errorf("error %v, want an *Error", err)
		}
	})
}
