package rule

import (
	"errors"
	"net/http"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/nginx/uri"
	"github.com/sluiceproxy/sluice/router/rule/expression/expressiontest"
)

// probes are requests that distinguish rules.
func probes(rule *Rule) []Request {
	probes := []Request{
		{},
		{
			Host: "a.example.com", Path: "/a", Method: "GET", RawQuery: "a=b",
			Header: http.Header{"X-A": {"b"}}, Client: netip.MustParseAddr("10.0.0.1"),
		},
		{Host: "example.com", Path: "/", Method: "POST", RawQuery: "a", Client: netip.MustParseAddr("2001:db8::1")},
	}
	for _, key := range rule.Keys()[:min(len(rule.Keys()), 8)] {
		for _, path := range []string{key.Path, key.Path + "x"} {
			escaped := uri.Escape(path)
			probes = append(probes, Request{Host: key.Host, Path: path, Escaped: escaped},
				Request{Host: "x." + key.Host, Path: path, Escaped: escaped}, Request{Host: key.Host, Escaped: escaped})
		}
	}
	return probes
}

// holds reports whether a request satisfies a key.
func (k Key) holds(r *Request) bool {
	full := Key{HostKind: ExactHost, Host: r.Host, PathKind: ExactPath, Path: r.Path}
	if k.PathKind.Normalized() {
		full.PathKind, full.Path = ExactNormalized, r.Normalized()
	}
	both, possible := k.both(full)
	return possible && both == full
}

// FuzzParse checks that no text panics, that positions lie within the text, that a printed rule means the same, that
// the compiled rule agrees with its tree and its explanation, and that its keys lose no request.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"canonical.golden", "errors.golden", "older.golden", "v2.golden"} {
		for line := range strings.Lines(expressiontest.ReadFile(f, filepath.Join("testdata", name))) {
			f.Add(strings.TrimSpace(line))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := Parse(text)
		if err != nil {
			checkError(t, text, err)
			if hint, _, ok := Older(text); ok {
				mustParse(t, hint)
			}
			return
		}
		checkRule(t, text, parsed)
	})
}

// FuzzParseV2 checks of the v2 language what FuzzParse checks of v3: above all that the v3 spelling of a rule means the
// same.
func FuzzParseV2(f *testing.F) {
	for line := range strings.Lines(expressiontest.ReadFile(f, filepath.Join("testdata", "v2.golden"))) {
		f.Add(strings.TrimSpace(line))
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := ParseV2(text)
		if err != nil {
			checkError(t, text, err)
			return
		}
		if parsed.String() != text {
			t.Fatalf("%q: the text became %q", text, parsed)
		}
		checkRule(t, text, parsed)
	})
}

// checkError demands a message with a position in the text.
func checkError(t *testing.T, text string, err error) {
	t.Helper()
	wrong, is := errors.AsType[*Error](err)
	if !is || wrong.Column < 1 || wrong.Column > len(text)+1 || wrong.Message == "" {
		t.Fatalf("%q: error %v has no place in the text", text, err)
	}
}

// checkRule demands that the printed rule means the same as the parsed one.
func checkRule(t *testing.T, text string, parsed *Rule) {
	t.Helper()
	canonical := parsed.Canonical()
	again := mustParse(t, canonical)
	if again.Canonical() != canonical {
		t.Fatalf("%q: printed as %q and then as %q", text, canonical, again.Canonical())
	}
	for _, req := range probes(parsed) {
		checkProbe(t, parsed, again, &req)
	}
}

func checkProbe(t *testing.T, parsed, again *Rule, req *Request) {
	t.Helper()
	matched := parsed.Match(req)
	if again.Match(req) != matched {
		t.Fatalf("%q: the canonical rule %q disagrees on %+v", parsed, again, req)
	}
	if explained, _ := parsed.Explain(req); explained != matched {
		t.Fatalf("%q: Explain says %t of %+v", parsed, explained, req)
	}
	if !matched {
		return
	}
	for _, key := range parsed.Keys() {
		if key.holds(req) {
			return
		}
	}
	t.Fatalf("%q: matches %+v, which no key of %v finds", parsed, req, parsed.Keys())
}
