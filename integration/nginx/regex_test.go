package nginx_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/nginx"
	"github.com/sluiceproxy/sluice/nginx/pcre"
	"github.com/sluiceproxy/sluice/nginx/uri"
)

const (
	// patterns and subjects are how many patterns are made, and targets for each of them.
	patterns, subjects = 1000, 20
	// captures is how many groups a replacement can name.
	captures = 9
)

// expression is a pattern with the texts that it is tried on.
type expression struct {
	pattern  string
	caseless bool
	targets  []string
}

// TestRegex compares matches and captures of patterns with those of nginx.
func TestRegex(t *testing.T) {
	g := newGenerator(seedOf(t))
	p := nginx.Start(t, nginx.Options{})
	refused, matched := map[string]int{}, 0
	var all []*expression
	for len(all) < patterns {
		one := g.expression()
		if _, err := one.compile(); err == nil {
			all = append(all, one)
		} else if construct := pcre.Unsupported(err); construct != "" {
			refused[construct]++
		} else {
			t.Fatalf("%q: %v", one.pattern, err)
		}
	}
	for round := range slices.Chunk(all, together) {
		matched += match(t, p, round)
	}
	t.Logf("%d of %d targets match; refused patterns: %v", matched, patterns*subjects, refused)
	if matched < patterns*subjects/4 || matched > patterns*subjects*3/4 {
		t.Errorf("%d matches prove too little", matched)
	}
}

func (e *expression) compile() (*pcre.Regexp, error) {
	flags := pcre.Flags(0)
	if e.caseless {
		flags = pcre.Caseless
	}
	return pcre.Compile(e.pattern, flags)
}

// match compares the answers for some patterns, and returns how many targets match.
func match(t *testing.T, p *nginx.Process, round []*expression) (matched int) {
	t.Helper()
	if err := p.Reload(expressions(p, round)); err != nil {
		t.Fatal(err)
	}
	trials := make([]*trial, len(round))
	for i, one := range round {
		trials[i] = &trial{name: "s" + strconv.Itoa(i), targets: one.targets}
	}
	if err := askAll(t.Context(), p, trials); err != nil {
		t.Fatal(err)
	}
	for i, one := range round {
		for j, got := range trials[i].replies {
			want := one.expected(one.targets[j])
			if strings.HasPrefix(want.text, "/r") {
				matched++
			}
			if got != want {
				one.shrink(t, p, one.targets[j])
			}
		}
	}
	return matched
}

// expressions writes one server for each pattern, which answers with the captures.
func expressions(p *nginx.Process, all []*expression) string {
	var text strings.Builder
	text.WriteString(config(p, nil))
	for i, one := range all {
		modifier, pattern := "~", one.pattern
		if one.caseless {
			modifier, pattern = "~*", "(?i)"+pattern
		}
		replacement := "/r"
		for group := range captures {
			replacement += "$" + strconv.Itoa(group+1) + "|"
		}
		fmt.Fprintf(&text, "server { listen unix:%s; server_name s%d; location / { return 200 /p; }\n"+
			"  location %s %s { rewrite %s %s? break; proxy_pass http://echo; } }\n",
			p.Socket("web"), i, modifier, nginx.Quote(one.pattern), nginx.Quote(pattern), replacement)
	}
	return text.String()
}

// expected is the answer by the package pcre.
func (e *expression) expected(target string) reply {
	re, err := e.compile()
	path, ok := uri.Normalize(target)
	if err != nil || !ok {
		return reply{status: http.StatusBadRequest}
	}
	found := re.Find(path)
	if found == nil {
		return reply{http.StatusOK, "/p"}
	}
	text := "/r"
	for group := range captures {
		if group+1 < len(found) {
			text += found[group+1]
		}
		text += "|"
	}
	return reply{http.StatusOK, uri.Escape(text)}
}

// shrink fails with the shortest pattern and target that it finds for which the answers differ.
func (e *expression) shrink(t *testing.T, p *nginx.Process, target string) {
	t.Helper()
	differs := func(pattern, target string) bool {
		one := &expression{pattern: pattern, caseless: e.caseless}
		if _, err := one.compile(); err != nil || p.Reload(expressions(p, []*expression{one})) != nil {
			return false
		}
		return once(t, p, expressions(p, []*expression{one}), "s0", target) != one.expected(target)
	}
	pattern := e.pattern
	for i := len(target) - 1; i > 0; i-- {
		if shorter := target[:i] + target[i+1:]; differs(pattern, shorter) {
			target = shorter
		}
	}
	for i := len(pattern) - 1; i >= 0; i-- {
		for length := 1; length < 4 && i+length <= len(pattern); length++ {
			if shorter := pattern[:i] + pattern[i+length:]; differs(shorter, target) {
				pattern = shorter
				break
			}
		}
	}
	one := &expression{pattern: pattern, caseless: e.caseless}
	got := once(t, p, expressions(p, []*expression{one}), "s0", target)
	t.Fatalf("%q (caseless %t) on %q: nginx answers %v, want %v", pattern, e.caseless, target, got, one.expected(target))
}

// TestSyntaxErrors checks that what the package pcre calls no regular expression is none for nginx, and that nginx
// takes what is refused by name.
func TestSyntaxErrors(t *testing.T) {
	const most = 60
	g := newGenerator(seedOf(t))
	p := nginx.Start(t, nginx.Options{})
	invalid, unsupported := 0, 0
	for invalid < most {
		one := g.expression()
		one.pattern = g.damaged(one.pattern)
		_, err := one.compile()
		if _, is := errors.AsType[*pcre.SyntaxError](err); !is {
			if pcre.Unsupported(err) != "" {
				unsupported++
			}
			continue
		}
		invalid++
		if p.Reload(expressions(p, []*expression{one})) == nil {
			t.Errorf("nginx accepts %q, of which is said: %v", one.pattern, err)
		}
	}
	t.Logf("%d patterns are none, %d others are refused by name", invalid, unsupported)
}

// damaged removes or adds some bytes.
func (g generator) damaged(pattern string) string {
	for range 1 + g.IntN(3) {
		at := g.IntN(len(pattern) + 1)
		if g.chance(2) {
			pattern = pattern[:at] + pattern[min(at+1, len(pattern)):]
			continue
		}
		pattern = pattern[:at] + g.one("(", ")", "[", "]", "{", "}", "*", "+", "?", "|", `\`, "^", "$", "(?", "(?<", "-", ",",
			"2", "i", "[:", ":]", `\x`, `\c`, `\Q`, `\E`, `\8`, `\y`, "{2,1}", "{3}", "#", "P") + pattern[at:]
	}
	return pattern
}
