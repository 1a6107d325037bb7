package rule

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func TestKeys(t *testing.T) {
	exact := func(host string, k Key) Key { k.HostKind, k.Host = ExactHost, host; return k }
	wildcard := func(domain string, k Key) Key { k.HostKind, k.Host = WildcardHost, domain; return k }
	suffix := func(domain string, k Key) Key { k.HostKind, k.Host = SuffixHost, domain; return k }
	path := func(p string) Key { return Key{PathKind: ExactPath, Path: p} }
	prefix := func(p string) Key { return Key{PathKind: PrefixPath, Path: p} }
	normalized := func(p string) Key { return Key{PathKind: ExactNormalized, Path: p} }
	normalizedPrefix := func(p string) Key { return Key{PathKind: PrefixNormalized, Path: p} }
	tests := []struct {
		rule string
		want []Key
	}{
		{"Host(`A`)", []Key{exact("a", Key{})}},
		{"Host(`*`)", []Key{{}}},
		{"Host(`*.a`)", []Key{wildcard("a", Key{})}},
		{"Path(`/x`)", []Key{path("/x")}},
		{"Host(`a`) && PathPrefix(`/x`)", []Key{exact("a", prefix("/x"))}},
		{"(Host(`a`) || Host(`b`)) && PathPrefix(`/x`)", []Key{exact("a", prefix("/x")), exact("b", prefix("/x"))}},
		{"Host(`a`) || PathPrefix(`/x`)", []Key{exact("a", Key{}), prefix("/x")}},
		{"Host(`a`) || Method(`GET`)", []Key{{}}},
		{"Host(`a`) && Method(`GET`)", []Key{exact("a", Key{})}},
		{"HostRegexp(`a`) && PathRegexp(`b`) && Header(`A`, `b`)", []Key{{}}},
		{"!Host(`a`)", []Key{{}}},
		{"!Host(`a`) && Path(`/x`)", []Key{path("/x")}},
		{"!!Host(`a`)", []Key{exact("a", Key{})}},
		{"!(!Host(`a`) || Path(`/x`))", []Key{exact("a", Key{})}},
		{"!(!Host(`a`) && !Path(`/x`))", []Key{exact("a", Key{}), path("/x")}},
		{"!Host(`*`)", []Key{{}}},

		{"Host(`a`) && Host(`a`)", []Key{exact("a", Key{})}},
		{"Host(`a`) || Host(`a`)", []Key{exact("a", Key{})}},
		{"Host(`a`) && Host(`b`)", nil},
		{"Host(`x.a`) && Host(`*.a`)", []Key{exact("x.a", Key{})}},
		{"Host(`*.a`) && Host(`x.a`)", []Key{exact("x.a", Key{})}},
		{"Host(`*.a`) && Host(`a`)", nil},
		{"Host(`*.a`) && Host(`*.x.a`)", nil},
		{"Path(`/x`) && Path(`/y`)", nil},
		{"Path(`/x/y`) && PathPrefix(`/x`)", []Key{path("/x/y")}},
		{"PathPrefix(`/x/y`) && Path(`/x`)", nil},
		{"PathPrefix(`/x`) && PathPrefix(`/x/y`)", []Key{prefix("/x/y")}},
		{"PathPrefix(`/x`) && PathPrefix(`/y`)", nil},
		{"HostSuffix(`A`) && PathSegmentPrefix(`/x/`)", []Key{suffix("a", prefix("/x"))}},
		{"PathSegmentPrefix(`/`)", []Key{prefix("/")}},
		{"NormalizedPath(`/x`)", []Key{normalized("/x")}},
		{"Host(`a`) && NormalizedPathPrefix(`/x`)", []Key{exact("a", normalizedPrefix("/x"))}},
		{"NormalizedPath(`/x`) && NormalizedPathPrefix(`/y`)", nil},
		{"NormalizedPath(`/x`) && NormalizedPath(`/y`)", nil},
		{"NormalizedPathPrefix(`/x`) && NormalizedPathPrefix(`/x/y`)", []Key{normalizedPrefix("/x/y")}},
		{"Path(`/x`) && NormalizedPath(`/y`)", []Key{path("/x")}},
		{"PathPrefix(`/x`) && NormalizedPath(`/y`)", []Key{normalized("/y")}},
		{"NormalizedPathPrefix(`/x`) && Path(`/y`)", []Key{path("/y")}},
		{"NormalizedPathPrefix(`/x`) && PathPrefix(`/y`)", []Key{normalizedPrefix("/x")}},
		{"NormalizedPathRegexp(`^/x`)", []Key{{}}},
		{"HostSuffix(`a`) && Host(`x.a`)", []Key{exact("x.a", Key{})}},
		{"Host(`y.x.a`) && HostSuffix(`a`)", []Key{exact("y.x.a", Key{})}},
		{"HostSuffix(`a`) && Host(`a`)", nil},
		{"HostSuffix(`a`) && Host(`ba`)", nil},
		{"HostSuffix(`a`) && Host(`*.a`)", []Key{wildcard("a", Key{})}},
		{"Host(`*.x.a`) && HostSuffix(`a`)", []Key{wildcard("x.a", Key{})}},
		{"Host(`*.a`) && HostSuffix(`x.a`)", nil},
		{"HostSuffix(`a`) && HostSuffix(`x.a`)", []Key{suffix("x.a", Key{})}},
		{"HostSuffix(`x.a`) && HostSuffix(`a`)", []Key{suffix("x.a", Key{})}},
		{"HostSuffix(`a`) && HostSuffix(`a`)", []Key{suffix("a", Key{})}},
		{"HostSuffix(`a`) && HostSuffix(`b`)", nil},
	}
	for _, test := range tests {
		if got := mustParse(t, test.rule).Keys(); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", test.rule, got, test.want)
		}
	}
}

// alternatives joins n matchers by ||.
func alternatives(n int, format string) string {
	matchers := make([]string, n)
	for i := range matchers {
		matchers[i] = fmt.Sprintf(format, i)
	}
	return "(" + strings.Join(matchers, " || ") + ")"
}

func TestKeysAreBounded(t *testing.T) {
	tests := []struct {
		name, rule string
		want       int
		linear     bool
	}{
		{"all hosts of a long list", alternatives(3000, "Host(`h%d`)"), 3000, false},
		{"one path for all hosts", alternatives(3000, "Host(`h%d`)") + " && PathPrefix(`/x`)", 3000, false},
		{"a product below the bound", alternatives(8, "Host(`h%d`)") + " && " + alternatives(8, "Path(`/%d`)"), 64, false},
		{
			"hosts beat paths above the bound", alternatives(40, "Path(`/%d`)") + " && " + alternatives(90, "Host(`h%d`)"), 90,
			false,
		},
		{
			"fewer paths beat more", alternatives(40, "PathPrefix(`/%d`)") + " && " + alternatives(9, "PathPrefix(`/9%d`)"), 9,
			false,
		},
		{"a product that grows with every operand", strings.TrimSuffix(strings.Repeat("(Host(`a`) || Path(`/`)) && ", 5000),
			" && "), 3, false},
		{"an alternative without keys", alternatives(100, "Host(`h%d`)") + " || Method(`GET`)", 1, true},
	}
	for _, test := range tests {
		keys := mustParse(t, test.rule).Keys()
		if len(keys) != test.want || (len(keys) == 1 && keys[0] == Key{}) != test.linear {
			t.Errorf("%s: got %d keys, first %v, want %d", test.name, len(keys), keys[0], test.want)
		}
	}
}

func TestDomains(t *testing.T) {
	tests := []struct {
		rule string
		want string
	}{
		{"Host(`B`) || Host(`a`)", "a b"},
		{"Host(`*.a`) && PathPrefix(`/`)", "*.a"},
		{"Host(`*`)", ""},
		{"HostRegexp(`a`)", ""},
		{"Path(`/`)", ""},
		{"Host(`a`) || Path(`/`)", "a"},
		{"!Host(`a`)", ""},
		{"!!Host(`a`)", "a"},
		{"Host(`a`) && !Host(`b`)", "a"},
		{"!(!Host(`a`) || Host(`b`))", "a"},
		{"Host(`a`) && (Host(`b`) || Path(`/`))", "a"},
		{"Host(`a`) && (Host(`a`) || Path(`/`))", "a"},
		{"Host(`a`) && Host(`b`)", ""},
		{"Host(`x.a`) && Host(`*.a`)", "x.a"},
		{"(Host(`*.a`) || Host(`b`)) && (Host(`x.a`) || Host(`b`) || Host(`c`))", "b x.a"},
		{"(Host(`a`) || Host(`b`)) && (Host(`b`) || Host(`c`)) && Method(`GET`)", "b"},
		{"HostSuffix(`A`)", "**.a"},
		{"HostSuffix(`a`) && (Host(`y.x.a`) || Host(`b`))", "y.x.a"},
		{"HostSuffix(`a`) && Host(`*.x.a`)", "*.x.a"},
		{"HostSuffix(`a`) && Host(`*.a`)", "*.a"},
		{"HostSuffix(`a`) && HostSuffix(`x.a`)", "**.x.a"},
	}
	for _, test := range tests {
		if got := strings.Join(mustParse(t, test.rule).Domains(), " "); got != test.want {
			t.Errorf("%s: got %q, want %q", test.rule, got, test.want)
		}
	}
}

// TestNamesHosts tells rules that admit hosts which they do not name from others.
func TestNamesHosts(t *testing.T) {
	for text, want := range map[string]bool{
		"Host(`a`)":                                   true,
		"Host(`a`) || Host(`*.b`)":                    true,
		"Host(`*`)":                                   false,
		"HostRegexp(`a`)":                             false,
		"Path(`/`)":                                   false,
		"Host(`a`) && Path(`/`)":                      true,
		"Host(`a`) || Path(`/`)":                      false,
		"Host(`a`) || Host(`b`) && Path(`/`)":         true,
		"!Host(`a`)":                                  false,
		"!!Host(`a`)":                                 true,
		"!(!Host(`a`) || Host(`b`))":                  true,
		"!(!Host(`a`) && !Host(`b`))":                 true,
		"!(!Host(`a`) && Path(`/`))":                  false,
		"Path(`/`) && (Host(`a`) || HostSuffix(`b`))": true,
		"(Host(`a`) || Path(`/`)) && (Host(`b`) || !Path(`/x`))": false,
	} {
		if got := mustParse(t, text).NamesHosts(); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

func TestExplain(t *testing.T) {
	req := Request{
		Host: "a.example.com", Path: "/y", Method: "GET", RawQuery: "k=1&k=2",
		Header: http.Header{"X-A": {"1", "2", "3", "4", "5", "6"}}, Client: netip.MustParseAddr("::ffff:10.0.0.1"),
	}
	tests := []struct {
		rule    string
		matched bool
		want    []string
	}{
		{"Path(`/x`)", false, []string{"Path(`/x`): the path is \"/y\""}},
		{"Path(`/y`)", true, []string{"Path(`/y`): the path is \"/y\""}},
		{"!path(`/y`)", false, []string{"!Path(`/y`): the path is \"/y\""}},
		{
			"Host(`a.example.com`) && Path(`/x`) && Method(`POST`)", false,
			[]string{"Path(`/x`): the path is \"/y\"", "Method(`POST`): the method is \"GET\""},
		},
		{
			"Host(`a.example.com`) && (Path(`/x`) || !Method(`GET`))", false,
			[]string{"Path(`/x`): the path is \"/y\"", "!Method(`GET`): the method is \"GET\""},
		},
		{
			"!(Host(`a.example.com`) && PathPrefix(`/`))", false,
			[]string{"!Host(`a.example.com`): the host is \"a.example.com\"", "!PathPrefix(`/`): the path is \"/y\""},
		},
		{"!(Host(`a.example.com`) && Path(`/x`))", true, []string{"!Path(`/x`): the path is \"/y\""}},
		{"Path(`/x`) || Path(`/y`)", true, []string{"Path(`/y`): the path is \"/y\""}},
		{"Header(`X-B`, `b`)", false, []string{"Header(`X-B`, `b`): the header X-B is absent"}},
		{"Header(`X-A`, `b`)", false, []string{"Header(`X-A`, `b`): the header X-A is \"1\", \"2\", \"3\", \"4\", 2 more"}},
		{
			"HeaderRegexp(`Host`, `a`)", false,
			[]string{"HeaderRegexp(`Host`, `a`): the host is not among the headers, use the matcher Host"},
		},
		{"Query(`k`)", false, []string{"Query(`k`): the query parameter k is \"1\", \"2\""}},
		{"ClientIP(`10.0.0.2`)", false, []string{"ClientIP(`10.0.0.2`): the client address is 10.0.0.1"}},
	}
	for _, test := range tests {
		matched, steps := mustParse(t, test.rule).Explain(&req)
		got := make([]string, len(steps))
		for i, step := range steps {
			got[i] = step.String()
			if step.Matched != matched {
				t.Errorf("%s: step %q has outcome %t, the rule has %t", test.rule, got[i], step.Matched, matched)
			}
		}
		if matched != test.matched || !slices.Equal(got, test.want) {
			t.Errorf("%s: got %t and %q, want %t and %q", test.rule, matched, got, test.matched, test.want)
		}
	}
}

func TestExplainClipsWhatTheClientSent(t *testing.T) {
	req := Request{Path: "/" + strings.Repeat("é", 5000)}
	_, steps := mustParse(t, "Path(`/`)").Explain(&req)
	if len(steps[0].Saw) > 300 || strings.Contains(steps[0].Saw, "\\x") {
		t.Errorf("got %d bytes: %s", len(steps[0].Saw), steps[0].Saw)
	}
}
