package rule_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/router/rule"
)

func leaf(name string, args ...string) dynamic.Match { return dynamic.Match{Name: name, Args: args} }

func all(parts ...dynamic.Match) dynamic.Match { return dynamic.Match{All: parts} }

func anyOf(parts ...dynamic.Match) dynamic.Match { return dynamic.Match{Any: parts} }

func not(part dynamic.Match) dynamic.Match { return dynamic.Match{Not: &part} }

// hard are values that a text has to quote.
func hard() []string {
	return []string{
		"`", `"`, "`\"", `\`, `\"`, "\\`", "a`) || Host(`*", `a") || Host("*`, "(", ")", "&&", " ", "\t", "\n", "\r\n",
		"\x00", "\x7f",
		"\u2028", "\ufeff", "ä", "\xff", "é`\xc3", "{x}", `\x41`, ",",
	}
}

func TestTreesAreWritten(t *testing.T) {
	a, b, c := leaf("Path", "/a"), leaf("Method", "GET"), leaf("Header", "X-A", "`")
	tests := []struct {
		tree dynamic.Match
		text string
	}{
		{a, "Path(`/a`)"},
		{c, "Header(`X-A`, \"`\")"},
		{leaf("PathRegexp", `^/\d+$`), "PathRegexp(`^/\\d+$`)"},
		{all(a, b, c), "Path(`/a`) && Method(`GET`) && Header(`X-A`, \"`\")"},
		{anyOf(a, all(a, b)), "Path(`/a`) || Path(`/a`) && Method(`GET`)"},
		{all(a, anyOf(a, b)), "Path(`/a`) && (Path(`/a`) || Method(`GET`))"},
		{all(all(a, b), a), "(Path(`/a`) && Method(`GET`)) && Path(`/a`)"},
		{anyOf(a, anyOf(a, b)), "Path(`/a`) || (Path(`/a`) || Method(`GET`))"},
		{not(a), "!Path(`/a`)"},
		{not(not(a)), "!!Path(`/a`)"},
		{not(all(a, b)), "!(Path(`/a`) && Method(`GET`))"},
		{not(anyOf(a, b)), "!(Path(`/a`) || Method(`GET`))"},
		{all(anyOf(all(a))), "Path(`/a`)"},
		{all(a, all(anyOf(a, b))), "Path(`/a`) && (Path(`/a`) || Method(`GET`))"},
		{not(anyOf(all(a, b))), "!(Path(`/a`) && Method(`GET`))"},
	}
	for _, test := range tests {
		made, err := rule.New(&test.tree)
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		if made.String() != test.text || made.Length() != len(test.text) {
			t.Errorf("got %s with length %d, want %s", made, made.Length(), test.text)
		}
		parsed, err := rule.Parse(test.text)
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		if diff := cmp.Diff(made.Tree(), parsed.Tree()); diff != "" {
			t.Errorf("%s: parsed as another tree:\n%s", test.text, diff)
		}
	}
}

func TestValuesOfTreesNeedNoQuotes(t *testing.T) {
	for _, value := range hard() {
		tree := all(leaf("Header", "X-A", value), not(leaf("Query", "q", value)))
		made, err := rule.New(&tree)
		if err != nil {
			t.Errorf("%q: %v", value, err)
			continue
		}
		parsed, err := rule.Parse(made.String())
		if err != nil {
			t.Errorf("%q is written as %s: %v", value, made, err)
			continue
		}
		for _, one := range []*rule.Rule{made, parsed} {
			if !one.Match(&rule.Request{Header: http.Header{"X-A": {value}}}) {
				t.Errorf("%s does not match the value %q", one, value)
			}
			if one.Match(&rule.Request{Header: http.Header{"X-A": {value + "x"}}}) {
				t.Errorf("%s matches more than the value %q", one, value)
			}
		}
	}
}

// TestTreesAreRefused demands that a tree fails as a text does, and never matches more than it says.
func TestTreesAreRefused(t *testing.T) {
	a := leaf("Path", "/a")
	deep, shared := a, a
	for range 101 {
		deep = not(deep)
	}
	for range 60 {
		shared = anyOf(shared, shared)
	}
	wide := dynamic.Match{}
	for range 20_000 {
		wide.Any = append(wide.Any, leaf("Header", "X-A", "\n\n\n\n\n\n\n\n"))
	}
	tests := []struct {
		name    string
		tree    dynamic.Match
		message string
	}{
		{"nothing", dynamic.Match{}, "not exactly one of"},
		{"an empty All", dynamic.Match{All: []dynamic.Match{}}, "not exactly one of"},
		{"an empty part", all(a, dynamic.Match{}), "not exactly one of"},
		{
			"a matcher and All",
			dynamic.Match{Name: "Path", Args: []string{"/a"}, All: []dynamic.Match{a}},
			"not exactly one of",
		},
		{"All and Any", dynamic.Match{All: []dynamic.Match{a}, Any: []dynamic.Match{a}}, "not exactly one of"},
		{"Not and Any", dynamic.Match{Not: &a, Any: []dynamic.Match{a}}, "not exactly one of"},
		{"arguments of All", dynamic.Match{Args: []string{"/a"}, All: []dynamic.Match{a}}, "not exactly one of"},
		{"no name", dynamic.Match{Args: []string{"/a"}}, "unknown matcher"},
		{"an unknown name", leaf("Hots", "x"), `unknown matcher "Hots", did you mean "Host"?`},
		{"a text as a name", leaf("Path(`/a`) || Host", "*"), "unknown matcher"},
		{"an empty argument", leaf("PathPrefix", ""), "PathPrefix: the argument is empty"},
		{"an empty second argument", leaf("HeaderRegexp", "X-A", ""), "HeaderRegexp: the argument is empty"},
		{"no argument", leaf("Path"), "Path takes 1 argument, not 0"},
		{"too many arguments", leaf("Path", "/a", "/b"), "Path takes 1 argument, not 2"},
		{"a relative path", leaf("Path", "a"), `Path: "a" does not begin with a slash`},
		{"no expression", leaf("PathRegexp", "("), "is not a regular expression"},
		{"a costly expression", leaf("PathRegexp", `((\pL){1000}){1000}`), "PathRegexp: "},
		{"too deep", deep, "more than 100 deep"},
		{"shared parts", shared, "more than the 262144 bytes"},
		{"long when quoted", wide, "more than the 262144 bytes"},
	}
	for _, test := range tests {
		made, err := rule.New(&test.tree)
		if err == nil || !strings.Contains(err.Error(), test.message) || made != nil {
			t.Errorf("%s: got %v, want an error with %q", test.name, err, test.message)
		}
	}
}

// forest turns bytes into trees, zeros when they run out.
type forest struct{ data []byte }

func (f *forest) below(n int) int {
	if len(f.data) == 0 {
		return 0
	}
	b := f.data[0]
	f.data = f.data[1:]
	return int(b) % n
}

// value takes some of the bytes as they are.
func (f *forest) value() string {
	n := min(f.below(8), len(f.data))
	value := string(f.data[:n])
	f.data = f.data[n:]
	return value
}

func (f *forest) tree(depth int) dynamic.Match {
	kind := f.below(8)
	if depth == 0 {
		kind = 0
	}
	switch kind {
	case 1:
		return not(f.tree(depth - 1))
	case 2, 3, 4, 5:
		parts := make([]dynamic.Match, 2+f.below(2))
		for i := range parts {
			parts[i] = f.tree(depth - 1)
		}
		if kind%2 == 0 {
			return all(parts...)
		}
		return anyOf(parts...)
	}
	switch f.below(6) {
	case 0:
		return leaf("Header", "X-A", f.value())
	case 1:
		return leaf("HeaderRegexp", "X-A", f.value())
	case 2:
		return leaf("Query", f.value(), f.value())
	case 3:
		return leaf("Path", "/"+f.value())
	case 4:
		return leaf("Host", f.value())
	default:
		return leaf(f.value(), f.value())
	}
}

// FuzzTree checks that the text of a tree is good if the tree is, and that parsing it gives the same tree and decides
// the same.
func FuzzTree(f *testing.F) {
	for _, value := range hard() {
		f.Add(append([]byte{2, 0, 0, 0, byte(len(value))}, value+"\x01\x00\x02\x01a\x01b"...))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		source := &forest{data: data}
		tree := source.tree(4)
		text := tree.String()
		made, err := rule.New(&tree)
		parsed, failure := rule.Parse(text)
		if err != nil {
			if failure == nil {
				t.Fatalf("%s is accepted as a text, and as a tree %v", text, err)
			}
			return
		}
		if failure != nil {
			t.Fatalf("%s is accepted as a tree, and as a text %v", text, failure)
		}
		if diff := cmp.Diff(made.Tree(), parsed.Tree()); diff != "" {
			t.Fatalf("%s: parsed as another tree:\n%s", text, diff)
		}
		for range 3 {
			value := source.value()
			request := rule.Request{Host: value, Path: "/" + value, RawQuery: value, Header: http.Header{"X-A": {value}}}
			if made.Match(&request) != parsed.Match(&request) {
				t.Fatalf("%s: tree and text decide %+v differently", text, request)
			}
		}
	})
}
