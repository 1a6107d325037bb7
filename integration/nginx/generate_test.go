package nginx_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/nginx/location"
	"github.com/sluiceproxy/sluice/nginx/pcre"
	"github.com/sluiceproxy/sluice/nginx/uri"
)

// generator makes servers and targets that are likely to meet.
type generator struct{ *rand.Rand }

func newGenerator(seed uint64) generator { return generator{rand.New(rand.NewPCG(seed, seed))} }

func (g generator) one(choices ...string) string { return choices[g.IntN(len(choices))] }

func (g generator) chance(of int) bool { return g.IntN(of) == 0 }

// segment is decoded.
func (g generator) segment() string {
	if g.chance(4) {
		return g.one("a b", "a.b", "a+b", "%", "100%25", "x?y", "#", "(a)", "[a]", "a*", "...", ".a", ";x=y", `\`, `"`,
			"$uri", "é", "\xff", "a{1}", "^a$", "|", "'", "A", "B", "\t")
	}
	return g.one("a", "b", "ab", "abc", "foo", "bar", "Foo", "a-b", "v1")
}

// path is a decoded path, often one next to another one.
func (g generator) path(others []string) string {
	path := "/"
	if len(others) > 0 && !g.chance(3) {
		path = g.one(others...)
		if g.chance(3) {
			return path[:1+g.IntN(len(path))]
		}
	}
	for range g.IntN(3) {
		path = strings.TrimSuffix(path, "/") + "/" + g.segment()
	}
	if g.chance(3) {
		path = strings.TrimSuffix(path, "/") + "/"
	}
	return path
}

// server makes the locations of one server: those of paths of Ingresses, or any.
func (g generator) server() *location.Server {
	s := &location.Server{}
	if g.chance(2) {
		g.ingress(s)
	} else {
		g.blocks(s)
	}
	return s
}

// ingress adds what ingress-nginx makes of paths, with the default location.
func (g generator) ingress(s *location.Server) {
	paths := []string{"/"}
	for range 1 + g.IntN(8) {
		paths = append(paths, g.path(paths))
	}
	regex := g.chance(4)
	slices.SortFunc(paths, func(a, b string) int { return len(b) - len(a) })
	for _, path := range paths {
		exact := path != "/" && g.chance(3)
		switch {
		case regex:
			g.regex(s, "^"+path, true)
		case exact:
			g.add(&s.Exact, path, true)
		default:
			if path != "/" && !strings.HasSuffix(path, "/") {
				g.add(&s.Exact, path, true)
				path += "/"
			}
			g.add(&s.Prefix, path, true)
		}
	}
}

// blocks adds any locations; some of them do not proxy, so that they do not redirect either.
func (g generator) blocks(s *location.Server) {
	var paths []string
	for range 1 + g.IntN(8) {
		path := g.path(paths)
		paths = append(paths, path)
		proxies := !g.chance(8)
		switch g.IntN(5) {
		case 0, 1:
			g.add(&s.Exact, path, proxies)
		case 2, 3:
			g.add(&s.Prefix, path, proxies)
		default:
			g.regex(s, g.one("^", "", "^.*")+path+g.one("", "", "$", "(/|$)(.*)"), proxies)
		}
	}
}

// add adds a location unless there is one of the name.
func (g generator) add(to *[]location.Location, name string, proxies bool) {
	if !slices.ContainsFunc(*to, func(l location.Location) bool { return l.Name == name }) {
		*to = append(*to, location.Location{Name: name, Redirects: proxies})
	}
}

// regex adds a location "~*" whose pattern is valid here.
func (g generator) regex(s *location.Server, pattern string, proxies bool) {
	if re, err := pcre.Compile(pattern, pcre.Caseless); err == nil {
		s.Regex = append(s.Regex, location.Location{Name: pattern, Regexp: re, Redirects: proxies})
	}
}

// target is a request target near to the names of a server.
func (g generator) target(s *location.Server) string {
	names := []string{"/"}
	for _, all := range [][]location.Location{s.Exact, s.Prefix, s.Regex} {
		for _, one := range all {
			name := strings.NewReplacer("(/|$)(.*)", "/a", "$", "", "^.*", "/b").Replace(one.Name)
			if name = strings.TrimPrefix(name, "^"); strings.HasPrefix(name, "/") {
				names = append(names, name)
			}
		}
	}
	name := g.one(names...)
	if g.chance(6) && len(name) > 1 {
		return uri.Escape(strings.TrimSuffix(name, "/"))
	}
	return g.written(name)
}

// written is a target for a decoded path, or for one next to it.
func (g generator) written(path string) string {
	if g.chance(3) {
		path = g.path([]string{path})
	}
	var target strings.Builder
	for i := range len(path) {
		switch c := path[i]; {
		case c != '/' && g.chance(12), c == '/' && i > 0 && g.chance(20):
			fmt.Fprintf(&target, g.one("%%%02x", "%%%02X"), c)
		case c >= 0x80 && g.chance(2):
			target.WriteByte(c)
		default:
			target.WriteString(uri.Escape(string(c)))
		}
	}
	text := target.String()
	for range g.IntN(4) {
		text = cmp.Or(g.changed(text), "/")
	}
	if g.chance(8) {
		text += g.one("?", "?q=1", "?a=%2F//..", "#f", "?a#b", "?/../x")
	}
	return text
}

// changed changes a target at one place.
func (g generator) changed(target string) string {
	at := 1 + g.IntN(len(target))
	before, after := target[:at], target[at:]
	switch g.IntN(8) {
	case 0:
		return before + g.one("/", "//", "/./", "/../", "/x/..", "/.", "/..", "%2F", "%2f%2F", "/%2e/", "/.%2E/") + after
	case 1:
		return before + g.one("a", "B", ".", "..", "+", ";", "%20", "%41", "%c3%A9", "%25", "%3f", "%23", "%0a",
			"%0D", "%7f") + after
	case 2:
		return before + g.one("%", "%4", "%zz", "%00", "\x01", "\x7f", "\t", "\xe9", "|", `\`, `"`, "%0") + after
	case 3:
		return target[:at-1] + after
	case 4:
		return before + strings.ToUpper(after)
	case 5:
		return before
	case 6:
		return strings.TrimSuffix(target, "/")
	default:
		return target + "/"
	}
}
