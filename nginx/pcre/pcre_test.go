package pcre_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/nginx/pcre"
)

// none is what captures are without a match.
const none = "no match"

// TestFind compares captures, joined by "|", with those of PCRE2.
func TestFind(t *testing.T) {
	for _, c := range []struct {
		pattern, subject, want string
		flags                  pcre.Flags
	}{
		{pattern: ``, subject: "a", want: ""},
		{pattern: `^/api(/|$)(.*)`, subject: "/api", want: "/api||"},
		{pattern: `^/api(/|$)(.*)`, subject: "/api/v1/x", want: "/api/v1/x|/|v1/x"},
		{pattern: `^/api(/|$)(.*)`, subject: "/apis", want: none},
		{pattern: `^/api(/|$)(.*)`, subject: "/api\n", want: "/api||"},
		{pattern: `^/api(/|$)(.*)`, subject: "/api\n\n", want: none},
		{pattern: `a$`, subject: "a\n", want: "a"},
		{pattern: `a\Z`, subject: "a\n", want: "a"},
		{pattern: `a\z`, subject: "a\n", want: none},
		{pattern: `a$\n`, subject: "a\n", want: "a\n"},
		{pattern: `(a$)`, subject: "b\na\n", want: "a|a"},
		{pattern: `a$`, subject: "a\nb\n", want: none},
		{pattern: `a.b`, subject: "a\nb", want: none},
		{pattern: `(?s)a.b`, subject: "a\nb\n", want: "a\nb"},
		{pattern: `(?s:a.b)c.d`, subject: "a\nbc\nd", want: none},
		{pattern: `a[^b]c`, subject: "a\ncd", want: "a\nc"},
		{pattern: `a\Nc`, subject: "a\ncd", want: none},
		{pattern: `a\sb\s`, subject: "a\vb\n", want: "a\vb\n"},
		{pattern: `^.{2}$`, subject: "é", want: "é"},
		{pattern: `^[é]{2}$`, subject: "é", want: "é"},
		{pattern: `(é)`, subject: "xéy", want: "é|é"},
		{pattern: `^\W+$`, subject: "é", want: "é"},
		{pattern: `\bx\b`, subject: "éxé", want: "x"},
		{pattern: `é`, subject: "É", want: none, flags: pcre.Caseless},
		{pattern: `k`, subject: "\u212a", want: none, flags: pcre.Caseless},
		{pattern: `^/FOO`, subject: "/foobar", want: "/foo", flags: pcre.Caseless},
		{pattern: `^/FOO`, subject: "/fo", want: none, flags: pcre.Caseless},
		{pattern: `^/FOO`, subject: "/foo", want: none},
		{pattern: `^a(?i)b`, subject: "aB", want: "aB"},
		{pattern: `^a(?i)b`, subject: "AB", want: none},
		{pattern: `^1(?i)b`, subject: "1B", want: "1B"},
		{pattern: `(a(?i)b|c)d`, subject: "Cd", want: "Cd|C"},
		{pattern: `(a(?i)b|c)d`, subject: "CD", want: none},
		{pattern: `(?i-s:a)B`, subject: "AB", want: "AB"},
		{pattern: `(?-i)a`, subject: "A", want: none, flags: pcre.Caseless},
		{pattern: `[^a]`, subject: "aA", want: none, flags: pcre.Caseless},
		{pattern: `[A-C]+`, subject: "xabcd", want: "abc", flags: pcre.Caseless},
		{pattern: `[[:^lower:]]`, subject: "aA", want: none, flags: pcre.Caseless},
		{pattern: `[[:alpha:]_]+[^[:digit:]]`, subject: "1a_b-2", want: "a_b-"},
		{pattern: `[[:upper:]-]+`, subject: "aA-b", want: "A-"},
		{pattern: `[a-z-9]+`, subject: "Ab-9", want: "b-9"},
		{pattern: `[]a]+`, subject: "b]a", want: "]a"},
		{pattern: `[^]a]+`, subject: "]ab", want: "b"},
		{pattern: `[+--]+`, subject: "a,-b", want: ",-"},
		{pattern: `[\x41\101\n-\r\]\\]+`, subject: "a", want: "unsupported"},
		{pattern: `[\x41\n-\r\]\\\cA\0]+`, subject: "zA]\\\r\x01", want: "A]\\\r\x01"},
		{pattern: `[[a]+`, subject: "b[a", want: "[a"},
		{pattern: `\x41\x{42}\0101`, subject: "AB\x081", want: "AB\b1"},
		{pattern: `\Qa.b\E+`, subject: "a.bb", want: "a.bb"},
		{pattern: `\Qa.b`, subject: "axba.b", want: "a.b"},
		{pattern: `(\Q)|\E)`, subject: ")|", want: ")||)|"},
		{pattern: `a(?#x)+`, subject: "aa", want: "aa"},
		{pattern: `a{,x}{`, subject: "a{,x}{", want: "a{,x}{"},
		{pattern: `a{2}`, subject: "aaa", want: "aa"},
		{pattern: `a{2,}?`, subject: "aaa", want: "aa"},
		{pattern: `(a){0}b`, subject: "ab", want: "b|"},
		{pattern: `(a|ab)(c|bcd)(d*)`, subject: "abcd", want: "abcd|a|bcd|"},
		{pattern: `(?:(a)|b)*`, subject: "ab", want: "ab|a"},
		{pattern: `(a)|(b)`, subject: "b", want: "b||b"},
		{pattern: `(?<x>a)(?'y'b)(?P<z>c)`, subject: "abc", want: "abc|a|b|c"},
		{pattern: `.*?/`, subject: "a/b/", want: "a/"},
		{pattern: `\h+\H`, subject: "a \t\xa0b", want: " \t\xa0b"},
		{pattern: `\v\V`, subject: "\x85a", want: "\x85a"},
		{pattern: `a\/b\-c\_`, subject: "a/b-c_", want: "a/b-c_"},
		{pattern: `}]`, subject: "}]", want: "}]"},
	} {
		re, err := pcre.Compile(c.pattern, c.flags)
		if err != nil {
			if c.want != "unsupported" || pcre.Unsupported(err) == "" {
				t.Errorf("%s: %v", c.pattern, err)
			}
			continue
		}
		got := none
		if captures := re.Find(c.subject); captures != nil {
			got = strings.Join(captures, "|")
		}
		if got != c.want {
			t.Errorf("%s on %q: %q, want %q", c.pattern, c.subject, got, c.want)
		}
		if matched := re.Match(c.subject); matched != (c.want != none) {
			t.Errorf("%s on %q: Match is %t", c.pattern, c.subject, matched)
		}
	}
}

func TestGroups(t *testing.T) {
	re, err := pcre.Compile(`(a)(?<x>b)(?P<y>c)(?:d)`, 0)
	if err != nil {
		t.Fatal(err)
	}
	got := []int{re.Groups(), re.Group("x"), re.Group("y"), re.Group("z"), re.Group("")}
	if want := []int{3, 2, 3, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("groups %v, want %v", got, want)
	}
	if re.String() != `(a)(?<x>b)(?P<y>c)(?:d)` || re.Weight() < 4 || re.Weight() > 40 {
		t.Errorf("pattern %s of weight %d", re, re.Weight())
	}
}

func TestMatchAllocatesNothing(t *testing.T) {
	for _, pattern := range []string{`^/foo`, `^/foo(/|$)(.*)`, `x[a-z]+`} {
		re, err := pcre.Compile(pattern, pcre.Caseless)
		if err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(100, func() { re.Match("/FOO/bar/xyz") }); n > 0 {
			t.Errorf("%s: %v allocations", pattern, n)
		}
	}
}

// FuzzCompile checks that a pattern compiles or has a named reason, and that the two ways to match agree.
func FuzzCompile(f *testing.F) {
	for _, pattern := range []string{`^/a(/|$)(.*)`, `(?i)[^a-z\d[:alpha:]]+?`, `\Qa\E*(?#b)|{1`, `(?<n>a{2,3})`} {
		f.Add(pattern, "/a\n\xff", true)
	}
	f.Fuzz(func(t *testing.T, pattern, subject string, caseless bool) {
		flags := pcre.Flags(0)
		if caseless {
			flags = pcre.Caseless
		}
		re, err := pcre.Compile(pattern, flags)
		if err != nil {
			return
		}
		captures := re.Find(subject)
		if re.Match(subject) != (captures != nil) {
			t.Fatalf("%q on %q: Match disagrees with %q", pattern, subject, captures)
		}
		for _, capture := range captures {
			if !strings.Contains(subject, capture) {
				t.Fatalf("%q on %q: the capture %q", pattern, subject, capture)
			}
		}
		if captures != nil && len(captures) != re.Groups()+1 {
			t.Fatalf("%q has %d groups, and %d captures", pattern, re.Groups(), len(captures))
		}
	})
}
