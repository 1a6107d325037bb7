package pattern

import (
	"regexp"
	"strings"
	"testing"
)

func TestCompile(t *testing.T) {
	tests := []struct {
		pattern, text string
		want          bool
	}{
		{`^/a%2fb$`, "/a%2Fb", true},
		{`^/a%2Fb$`, "/a%2Fb", true},
		{`(?i)^/a%2fb$`, "/a%2Fb", true},
		{`^/a%2[fF]b$`, "/a%2Fb", true},
		{`^/(x|a%c3%a9)/$`, "/a%C3%A9/", true},
		{`^/a%2fb$`, "/a%2fb", false},
		{`[.%ab]`, "/A", false},
		{`[.%ab]`, "/a", true},
		{`%%2fa`, "%%2Fa", true},
		{`%25ab`, "%25ab", true},
		{`%2`, "%2F", true},
	}
	for _, test := range tests {
		regex, err := Compile(test.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := regex.MatchString(test.text); got != test.want {
			t.Errorf("%s on %s: %v", test.pattern, test.text, got)
		}
	}
}

func TestCompilePrefix(t *testing.T) {
	tests := []struct{ pattern, text, want string }{
		{`/a`, "/a/b", "/a"},
		{`/b`, "/a/b", "-"},
		{`^/a`, "/a/b", "/a"},
		{`/b|/a`, "/a/b", "/a"},
		{`(?m)^/b`, "/a\n/b", "-"},
		{`\Q/a`, "/a/b", "/a"},
		{`/a%2f`, "/a%2Fb", "/a%2F"},
		{`x*`, "/a", ""},
		{`(?i)/API/`, "/api/x", "/api/"},
	}
	for _, test := range tests {
		regex, err := CompilePrefix(test.pattern)
		if err != nil {
			t.Fatal(err)
		}
		got := "-"
		if found := regex.FindStringIndex(test.text); found != nil {
			got = test.text[found[0]:found[1]]
		}
		if got != test.want {
			t.Errorf("%s on %q matches %q, want %q", test.pattern, test.text, got, test.want)
		}
	}
}

func TestNeed(t *testing.T) {
	for pattern, want := range map[string]string{
		`^http://localhost/(.*)`:       "http://localhost/",
		`^https?://(www\.a\.org)/(.*)`: "www.a.org",
		`/foo/[a-z0-9]+/[0-9]+/`:       "/foo/",
		`(?i)/foo`:                     "",
		`/a|/b`:                        "/",
		`(/api)+x?`:                    "/api",
		`(/api)*`:                      "",
		`a\x{fffd}`:                    "",
		`x{0,2}`:                       "",
	} {
		regex, err := Compile(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if regex.need != want {
			t.Errorf("%s needs %q, want %q", pattern, regex.need, want)
		}
	}
}

func TestBadPatterns(t *testing.T) {
	for pattern, reason := range map[string]string{
		"^(.*":                        "is not a regular expression: missing closing )",
		"(a)(b))":                     "is not a regular expression: unexpected )",
		"a)|(b":                       "is not a regular expression: unexpected )",
		"a(?!b)":                      "is not a regular expression: invalid or unsupported Perl syntax at \"(?!\"",
		`(a)\1`:                       "is not a regular expression: invalid escape sequence at \"\\\\1\"",
		"a{2000}":                     "is not a regular expression: invalid repeat count",
		"\xff":                        "is not a regular expression: invalid UTF-8",
		strings.Repeat("a", 4097):     "has 4097 bytes, more than the 4096 that are allowed",
		`(\pL{10}){100}`:              "repeats too much",
		`((a{100}){10}b{100}){100}`:   "repeat",
		strings.Repeat("(", 2000):     "is not a regular expression",
		strings.Repeat("a{900}", 100): "repeats too much",
	} {
		for _, compile := range []func(string) (*Regexp, error){Compile, CompilePrefix} {
			if _, err := compile(pattern); err == nil || !strings.Contains(err.Error(), reason) {
				t.Errorf("%.40q: error %v, want %q", pattern, err, reason)
			}
		}
	}
}

// FuzzCompile asserts that a pattern means what Go's own package makes of it, but for the case of encodings.
func FuzzCompile(f *testing.F) {
	f.Add(`^/a%2fb(.*)`, "/a%2Fbc")
	f.Add(`(?i)[%a-f]+|\Qx`, "/%AAx")
	f.Add(`(?s:.)*?\b%zz(%c3)?`, "é%zz")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		ours, err := Compile(pattern)
		theirs, goErr := regexp.Compile(pattern)
		if err != nil || goErr != nil {
			if err == nil {
				t.Fatalf("%q compiles here alone", pattern)
			}
			return
		}
		bounded, err := CompilePrefix(pattern)
		if err != nil {
			t.Fatalf("%q compiles, but not as a prefix: %v", pattern, err)
		}
		if ours.MatchString(text) != ours.Regexp.MatchString(text) ||
			ours.Match([]byte(text)) != ours.Regexp.MatchString(text) {
			t.Fatalf("%q on %q: says %v", pattern, text, ours.MatchString(text))
		}
		found, prefix := ours.FindStringIndex(text), bounded.FindStringIndex(text)
		if (found != nil && found[0] == 0) != (prefix != nil) || prefix != nil && prefix[1] != found[1] {
			t.Fatalf("%q on %q: matches %v, at the beginning %v", pattern, text, found, prefix)
		}
		if encoding := regexp.MustCompile(`%[0-9a-fA-F]{2}`); encoding.MatchString(pattern) {
			return
		}
		if want := theirs.FindStringIndex(text); (found == nil) != (want == nil) || found != nil &&
			(found[0] != want[0] || found[1] != want[1]) {
			t.Fatalf("%q on %q: matches %v, want %v", pattern, text, found, want)
		}
	})
}
