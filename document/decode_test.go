package document

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	ptypes "github.com/traefik/paerser/types"
)

type level string

func (l *level) UnmarshalText(text []byte) error {
	if string(text) != "low" && string(text) != "high" {
		return errors.New("is neither low nor high")
	}
	*l = level(text)
	return nil
}

type inner struct {
	Name   string `json:"name"`
	Weight *int   `json:"weight"`
}

func (i *inner) SetDefaults() {
	one := 1
	i.Weight = &one
}

type Shared struct {
	CertFile string `json:"certFile"`
}

type sample struct {
	Shared   `json:",inline"`
	Text     string            `json:"text,omitempty"`
	Count    int               `json:"count"`
	Small    int8              `json:"small"`
	Size     uint16            `json:"size"`
	Ratio    float64           `json:"ratio"`
	On       bool              `json:"on"`
	MaybeOn  *bool             `json:"maybeOn"`
	Wait     ptypes.Duration   `json:"wait"`
	Tick     time.Duration     `json:"tick"`
	Level    level             `json:"level"`
	Names    []string          `json:"names"`
	Numbers  []int             `json:"numbers"`
	Inner    *inner            `json:"inner"`
	TLS      *inner            `json:"tls" label:"allowEmpty"`
	Inners   []inner           `json:"inners"`
	Headers  map[string]string `json:"headers"`
	ByName   map[string]*inner `json:"byName"`
	Anything map[string]any    `json:"anything"`
	Secret   string            `json:"-"`
}

func decodeSample(t *testing.T, name, text string) (sample, []string) {
	t.Helper()
	root, err := Parse(name, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var out sample
	var problems []string
	for _, p := range Decode(root, &out) {
		problems = append(problems, strconv.Itoa(p.Line)+" "+p.String())
	}
	return out, problems
}

func TestDecodeFillsEveryKindOfFieldFromYAMLAndTOML(t *testing.T) {
	yamlText := `
CERTFILE: /c.pem
Text: 010
COUNT: "8080"
small: -3
size: 0x10
ratio: 2.5
on: "true"
maybeOn: false
wait: 90
tick: 5ms
level: high
names: a, b
numbers: [1, "2", 3.0]
inner: {name: n}
tls: true
inners: [{name: a}, {name: b, weight: 0}]
headers: {X-Foo: , X-Bar: 1}
byName: {Web: {}}
anything: {a: [1, x, {b: true}], n: null}
`
	tomlText := `
certFile = "/c.pem"
text = "010"
count = 8_080
small = -3
size = 16
ratio = 2.5
on = true
maybeOn = false
wait = "1m30s"
tick = 5000000
level = "high"
names = ["a", "b"]
numbers = [1, 2, 3]
inner.name = "n"
tls = {}
inners = [{name = "a"}, {name = "b", weight = 0}]
headers = { X-Foo = "", X-Bar = "1" }
byName.Web = {}
[anything]
a = [1, "x", { b = true }]
`
	one, zero, no := 1, 0, false
	want := sample{
		Shared: Shared{CertFile: "/c.pem"}, Text: "010", Count: 8080, Small: -3, Size: 16, Ratio: 2.5, On: true,
		MaybeOn: &no, Wait: ptypes.Duration(90 * time.Second), Tick: 5 * time.Millisecond, Level: "high",
		Names: []string{"a", "b"}, Numbers: []int{1, 2, 3}, Inner: &inner{Name: "n", Weight: &one},
		TLS: &inner{Weight: &one}, Inners: []inner{{Name: "a", Weight: &one}, {Name: "b", Weight: &zero}},
		Headers: map[string]string{"X-Foo": "", "X-Bar": "1"}, ByName: map[string]*inner{"Web": {Weight: &one}},
		Anything: map[string]any{"a": []any{int64(1), "x", map[string]any{"b": true}}, "n": nil},
	}
	got, problems := decodeSample(t, "x.yaml", yamlText)
	if diff := cmp.Diff(want, got); diff != "" || problems != nil {
		t.Errorf("YAML: problems %q, differs (-want +got):\n%s", problems, diff)
	}
	delete(want.Anything, "n")
	got, problems = decodeSample(t, "x.toml", tomlText)
	if diff := cmp.Diff(want, got); diff != "" || problems != nil {
		t.Errorf("TOML: problems %q, differs (-want +got):\n%s", problems, diff)
	}
}

func TestDecodeNamesEveryProblem(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"unknown near", "text: a\ncuont: 1", `2 cuont: unknown option, did you mean "count"?`},
		{"unknown far", "entirelyElse: 1", `1 entirelyElse: unknown option`},
		{"excluded", "secret: 1", `1 secret: unknown option`},
		{"nested unknown", "inner:\n  nam: x", `2 inner.nam: unknown option, did you mean "name"?`},
		{"case twice", "text: a\nText: b", `2 Text: is given twice, first on line 1`},
		{"map case twice", "byName:\n  web: {}\n  Web: {}", `3 byName.Web: is given twice, first on line 2`},
		{"list for text", "text: [a]", `1 text: expected a string, got a list`},
		{"text for int", "count: many", `1 count: expected an integer, got "many"`},
		{"bool for int", "count: true", `1 count: expected an integer, got "true"`},
		{"fraction for int", "count: 1.5", `1 count: expected an integer, got "1.5"`},
		{"huge int", "count: 99999999999999999999", `1 count: expected an integer, got "99999999999999999999"`},
		{"map for int", "count: {}", `1 count: expected an integer, got a map`},
		{"overflow", "small: 128", `1 small: expected an integer of at most 8 bits, got "128"`},
		{"negative", "size: -1", `1 size: expected an integer that is not negative, got "-1"`},
		{"unsigned overflow", "size: 65536", `1 size: expected an integer of at most 16 bits, got "65536"`},
		{"float", "ratio: x", `1 ratio: expected a number, got "x"`},
		{"bool", "on: yes", `1 on: expected true or false, got "yes"`},
		{"bool list", "on: []", `1 on: expected true or false, got a list`},
		{"duration", "wait: soon", `1 wait: expected a duration such as "10s" or whole seconds, got "soon"`},
		{"duration too long", "wait: 9223372036854775807", `1 wait: "9223372036854775807" is too long for a duration`},
		{"text form", "level: odd", `1 level: is neither low nor high`},
		{"list", "names: {}", `1 names: expected a list, got a map`},
		{"list of structs", "inners: a", `1 inners: expected a list, got a single value`},
		{"empty item", "names:\n  - a\n  -", `3 names[1]: has no value`},
		{"item", "numbers:\n  - 1\n  - x", `3 numbers[1]: expected an integer, got "x"`},
		{"struct", "inner: x", `1 inner: expected a map, got a single value`},
		{"switch", "tls: maybe", `1 tls: expected a map, true or false, got "maybe"`},
		{"struct list", "inner: []", `1 inner: expected a map, got a list`},
		{"map", "headers: []", `1 headers: expected a map, got a list`},
		{"map value", "headers:\n  a: {}", `2 headers.a: expected a string, got a map`},
		{"map null", "byName:\n  web:", `2 byName.web: has no value`},
		{"whole", "[]", `1 expected a map, got a list`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, problems := decodeSample(t, "x.yaml", test.text)
			if diff := cmp.Diff([]string{test.want}, problems); diff != "" {
				t.Errorf("problems differ (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSectionsOfAMapAreNeverNil proves that an entry of a map is left out when its section is switched off or refused.
func TestSectionsOfAMapAreNeverNil(t *testing.T) {
	root, err := Parse("x.yaml", []byte("byName: {off: false, address: ':80', on: true, empty: }"))
	if err != nil {
		t.Fatal(err)
	}
	var out sample
	decoder := Decoder{Sections: true}
	problems := decoder.Decode(root, &out)
	one := 1
	want := map[string]*inner{"on": {Weight: &one}, "empty": {Weight: &one}}
	if diff := cmp.Diff(want, out.ByName); diff != "" {
		t.Errorf("entries differ (-want +got):\n%s", diff)
	}
	if len(problems) != 1 || problems[0].String() != `byName.address: expected a map, true or false, got ":80"` {
		t.Errorf("problems %v", problems)
	}
}

// TestDuplicatesCanBeReportedInPlace proves that a key given twice need not cost the rest of the document.
func TestDuplicatesCanBeReportedInPlace(t *testing.T) {
	for name, text := range map[string]string{
		"x.yaml": "byName:\n  a: {name: first}\n  a: {name: second}\n  b: {name: b, name: c}\ntext: t\n",
		"x.toml": "text = \"t\"\n[byName.a]\nname = \"first\"\n[byName.a]\nname = \"second\"\n[byName.b]\nname = " +
			"\"b\"\nname = \"c\"\n",
	} {
		root, err := ParseWithDuplicates(name, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var out sample
		problems := Decode(root, &out)
		if len(problems) != 2 || !strings.Contains(problems[0].String(), "byName.a: is given twice") ||
			!strings.Contains(problems[1].String(), "byName.b.name: is given twice") {
			t.Errorf("%s: problems %v", name, problems)
		}
		if out.Text != "t" || out.ByName["a"].Name != "first" || out.ByName["b"].Name != "b" {
			t.Errorf("%s: got %+v", name, out)
		}
	}
}

// TestDottedKeysOfMapsOfStrings proves that a dotted key of TOML is one key in a map of strings, whose keys may contain
// dots, and a path everywhere else.
func TestDottedKeysOfMapsOfStrings(t *testing.T) {
	got, problems := decodeSample(t, "x.toml", "inner.name = \"i\"\n[headers]\na.b = \"1\"\na.c.d = \"2\"\ne = \"3\"\n"+
		"f.g = [1]\n[headers.h]\ni = \"4\"\n[byName]\nx.name = \"n\"\n")
	want := map[string]string{"a.b": "1", "a.c.d": "2", "e": "3"}
	for key := range got.Headers {
		if got.Headers[key] == "" {
			delete(got.Headers, key)
		}
	}
	if diff := cmp.Diff(want, got.Headers); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	if got.Inner.Name != "i" || got.ByName["x"].Name != "n" {
		t.Errorf("got %+v and %+v", got.Inner, got.ByName["x"])
	}
	if len(problems) != 2 || !strings.Contains(problems[0], " headers.f.g: ") ||
		!strings.Contains(problems[1], " headers.h: ") {
		t.Errorf("problems %q", problems)
	}
}

func TestDecodeKeepsWhatIsRight(t *testing.T) {
	got, problems := decodeSample(t, "x.yaml", "text: kept\nwrong: 1\ncount: x\ntls: false\nsize: 7\n")
	if got.Text != "kept" || got.Size != 7 || got.TLS != nil {
		t.Errorf("got %+v", got)
	}
	if len(problems) != 2 {
		t.Errorf("problems %q, want two", problems)
	}
}

func TestDecodeNeedsAPointer(t *testing.T) {
	node := &Node{Kind: Map}
	for _, into := range []any{nil, sample{}, (*sample)(nil)} {
		if problems := Decode(node, into); len(problems) != 1 {
			t.Errorf("Decode into %T: problems %v, want one", into, problems)
		}
	}
}

func TestAliasBombsAreRefused(t *testing.T) {
	var wide strings.Builder
	wide.WriteString("a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n")
	for i := 1; i < 12; i++ {
		ref := "*a" + strconv.Itoa(i-1)
		wide.WriteString("a" + strconv.Itoa(i) + ": &a" + strconv.Itoa(i) + " [" + strings.Repeat(ref+",", 9) + ref + "]\n")
	}
	var deep strings.Builder
	deep.WriteString("a0: &a0 [1]\n")
	for i := 1; i < 150; i++ {
		deep.WriteString("a" + strconv.Itoa(i) + ": &a" + strconv.Itoa(i) + " [*a" + strconv.Itoa(i-1) + "]\n")
	}
	var merged strings.Builder
	merged.WriteString("a0: &a0 {k0: 1}\n")
	for i := 1; i < 3000; i++ {
		merged.WriteString("a" + strconv.Itoa(i) + ": &a" + strconv.Itoa(i) + " {<<: *a" + strconv.Itoa(i-1) + ", k" +
			strconv.Itoa(i) + ": 1}\n")
	}
	for name, text := range map[string]string{
		"wide": wide.String(), "deep": deep.String(), "merged": merged.String(),
		"nested": strings.Repeat("[", 200) + strings.Repeat("]", 200),
	} {
		_, err := Parse("x.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), "more than") {
			t.Errorf("%s: error %v, want a limit", name, err)
		}
	}
	for name, text := range map[string]string{
		"array":  "a = " + strings.Repeat("[", 200) + strings.Repeat("]", 200),
		"dotted": strings.Repeat("a.", 200) + "a = 1",
		"header": "[" + strings.Repeat("a.", 200) + "a]",
		"inline": strings.Repeat("a = {", 200) + strings.Repeat("}", 200),
	} {
		_, err := Parse("x.toml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), "nested") {
			t.Errorf("%s: error %v, want a limit", name, err)
		}
	}
}

func TestTooLargeADocumentIsRefused(t *testing.T) {
	_, err := Parse("x.yaml", make([]byte, MaxSize+1))
	if err == nil || err.Error() != "x.yaml:1: is larger than 64 MiB" {
		t.Errorf("error %v", err)
	}
}

// TestIdentity proves that the identity depends on content only.
func TestIdentity(t *testing.T) {
	identity := func(name, text string) string {
		root, err := Parse(name, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return string(root.AppendIdentity(nil))
	}
	base := identity("x.yaml", "a: {b: [1, two], c: }\n")
	for name, text := range map[string]string{
		"x.yaml": "\n\n# moved\na:\n  b:\n    - 1\n    - \"two\"\n  c: null\n",
		"y.yaml": "a: {<<: {b: [1, two], c: }}",
	} {
		if identity(name, text) != base {
			t.Errorf("%q has another identity", text)
		}
	}
	for _, text := range []string{
		"a: {b: [1, two], c: ''}", "a: {b: ['1', two], c: }", "a: {b: [1, two, x], c: }", "a: {b: [1, two]}",
		"a: {B: [1, two], c: }", "a: {b: [[1, two]], c: }", "a: {b: [1], two: , c: }",
	} {
		if identity("x.yaml", text) == base {
			t.Errorf("%q has the same identity", text)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"entryPoints", "rule", "service", "middlewares", "tls", "priority", "ruleSyntax"}
	tests := []struct {
		name, want string
	}{
		{"ruel", "rule"},
		{"RULES", "rule"},
		{"entrypoint", "entryPoints"},
		{"midlewares", "middlewares"},
		{"tsl", "tls"},
		{"servcies", "service"},
		{"prioritaet", "priority"},
		{"loadBalancer", ""},
		{"", ""},
		{"x", ""},
		{strings.Repeat("rule", 100), ""},
	}
	for _, test := range tests {
		got, ok := Nearest(test.name, known)
		if got != test.want || ok != (test.want != "") {
			t.Errorf("Nearest(%q) = %q, %v, want %q", test.name, got, ok, test.want)
		}
	}
}

func TestKeys(t *testing.T) {
	got := Keys(&inner{})
	if diff := cmp.Diff([]string{"name", "weight"}, got); diff != "" {
		t.Error(diff)
	}
	if Keys(3) != nil || Keys(nil) != nil {
		t.Error("what is no struct has no keys")
	}
}
