package nginx_test

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/nginx/uri"
)

// piece is a part of a pattern, with texts that it is likely to match.
type piece struct {
	text   string
	sample func() string
}

// expression makes a pattern by PCRE's grammar, with targets that are likely to match, or nearly.
func (g generator) expression() *expression {
	const depth = 3
	body := g.alternatives(depth, new(int))
	one := &expression{caseless: g.chance(2)}
	before, after := g.one("^/", "^/", "/", "", `\A`, "^/a(?i)"), g.one("", "", "$", `\Z`, `\z`, "(/|$)(.*)", "/?$", `\b`)
	one.pattern = before + body.text + after
	for range subjects {
		path := "/"
		if strings.Contains(before, "a") {
			path = g.one("/a", "/A")
		} else if !strings.HasPrefix(before, "^") && g.chance(2) {
			path = g.one("/x", "/x/", "/a")
		}
		path += body.sample() + g.one("", "", "", "/", "/a", "a", "\n", "\n\n", "b\n")
		one.targets = append(one.targets, g.subject(path))
	}
	return one
}

// subject is a target for a path, or for one next to it.
func (g generator) subject(path string) string {
	target := uri.Escape(path)
	if g.chance(3) {
		target = g.changed(target)
	}
	return "/" + strings.TrimLeft(target, "/")
}

func (g generator) alternatives(depth int, names *int) piece {
	all := make([]piece, 1+g.IntN(3)*g.IntN(2))
	texts := make([]string, len(all))
	for i := range all {
		all[i] = g.concatenation(depth, names)
		texts[i] = all[i].text
	}
	return piece{strings.Join(texts, "|"), func() string { return all[g.IntN(len(all))].sample() }}
}

func (g generator) concatenation(depth int, names *int) piece {
	all := make([]piece, g.IntN(4))
	text := ""
	for i := range all {
		all[i] = g.quantified(g.atom(depth, names))
		text += all[i].text
	}
	return piece{text, func() string {
		text := ""
		for _, one := range all {
			text += one.sample()
		}
		return text
	}}
}

func (g generator) quantified(one piece) piece {
	const extra = 3
	if g.chance(2) || one.sample == nil {
		if one.sample == nil {
			one.sample = func() string { return "" }
		}
		return one
	}
	low := g.IntN(extra)
	high := low + g.IntN(extra)
	text := g.one("*", "+", "?", fmt.Sprintf("{%d}", low), fmt.Sprintf("{%d,}", low), fmt.Sprintf("{%d,%d}", low, high))
	return piece{one.text + text + g.one("", "", "", "?", "+"), func() string {
		text := ""
		for range g.IntN(extra + 1) {
			text += one.sample()
		}
		return text
	}}
}

// atom makes what can be quantified, unless it has no sample.
func (g generator) atom(depth int, names *int) piece {
	switch n := g.IntN(16); {
	case n < 3 && depth > 0:
		inner := g.alternatives(depth-1, names)
		opening := g.one("(", "(", "(", "(?:", "(?i:", "(?s:", "(?-i:", "(?>", "(?=", "(?!", "(?<name>")
		if strings.HasPrefix(opening, "(?<") {
			*names++
			opening = fmt.Sprintf(g.one("(?<n%d>", "(?P<n%d>", "(?'n%d'"), *names)
		}
		return piece{opening + inner.text + ")", inner.sample}
	case n < 5:
		return g.classes()
	case n == 5:
		return piece{text: g.one("(?i)", "(?-i)", "(?s)", "(?#note)", `\b`, `\B`, "^", "$", `\Q.\E`, `\E`, `\K`, `\G`)}
	case n == 6:
		return piece{".", func() string { return g.one("a", "/", "\n", "é", "B") }}
	default:
		c := g.one("a", "b", "A", "B", "1", "-", "_", "/", "é", "k", "K", " ", "%")
		written := c
		switch {
		case g.chance(10):
			pair := [][2]string{
				{`\.`, "."},
				{`\+`, "+"},
				{`\?`, "?"},
				{`\(`, "("},
				{`\\`, `\`},
				{`\"`, `"`},
				{`\t`, "\t"},
				{`\n`, "\n"},
				{`\_`, "_"},
				{`\e`, "\x1b"},
				{`\cA`, "\x01"},

				{`\011`, "\t"},
				{`\1`, "a"},
				{"]", "]"},
				{"{", "{"},
				{"}", "}"},
				{"{,", "{,"},
			}[g.IntN(17)]
			written, c = pair[0], pair[1]
		case g.chance(6) && len(c) == 1:
			code := strconv.FormatInt(int64(c[0]), 16)
			written = g.one(`\x`+code, `\x{`+strings.ToUpper(code)+`}`, `\x{0`+code+`}`, "["+c+"]", "[^"+c+"]")
		}
		return piece{written, func() string { return c }}
	}
}

// classes makes a class of characters.
func (g generator) classes() piece {
	one := [][2]string{
		{"[a-c]", "abcdB"},
		{"[^a-c]", "abd\n"},
		{"[A-Z_]", "AZ_a"},
		{`\d`, "019a"},
		{`\D`, "a1\n"},
		{`\w`, "aZ_-"},
		{`\W`, "-a\xc3"},
		{`\s`, " \t\v\na"},
		{`\S`, "a \n"},
		{`\h`, " \t\xa0a"},
		{`\v`, "\n\v\x85a"},
		{`\N`, "a\n"},
		{`[\d-]`, "1-a"},
		{"[[:alpha:]]", "aZ1"},
		{"[[:^upper:]-]", "aA-"},
		{"[[:lower:]1]", "aA1"},
		{"[]-]", "]-a"},
		{"[^]]", "]a\n"},
		{"[é]", "\xc3\xa9e"},
		{`[\w.-]`, "a.-/"},
		{`[\n-]`, "\n-a"},
		{"[[:space:][:punct:]]", " .a\v"},
		{`[^\W_]`, "a_-"},
		{`[\x61-\x{63}]`, "acd"},
		{"[/]", "/a"},
		{"[^/]", "a/b"},
		{"[[:xdigit:]]", "aFg"},
		{`[\s\S]`, "a\n"},
		{"[a-z-9]", "a-9A"},
		{"[K-k]", "kKz"},
	}[g.IntN(30)]
	return piece{one[0], func() string {
		at := g.IntN(len(one[1]))
		return one[1][at : at+1]
	}}
}
