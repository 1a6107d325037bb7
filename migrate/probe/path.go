package probe

import (
	"fmt"
	"regexp/syntax"
	"strings"

	"github.com/sluiceproxy/sluice/nginx/uri"
)

// paths adds probes around the end and the case of a path.
func (g *generator) paths(path string) {
	bare := strings.TrimSuffix(path, "/")
	target := uri.Escape(path)
	if bare != path && bare != "" {
		g.add(uri.Escape(bare), NoFinalSlash, nil)
		g.add(uri.Escape(bare)+"?a=b", NoFinalSlash, nil)
	}
	g.add(uri.Escape(bare)+"/", FinalSlash, nil)
	g.add(target+"x", Longer, nil)
	if len(bare) > 1 {
		g.add(uri.Escape(bare[:len(bare)-1]), Shorter, nil)
	}
	g.add(uri.Escape(bare)+"/segment", Segment, nil)
	g.add(target+"?a=b&c=%2F", Query, nil)
	if other := otherCase(path); other != path {
		g.add(uri.Escape(other), Case, nil)
		g.add(uri.Escape(strings.TrimSuffix(other, "/"))+"/segment", Case, nil)
	}
	if g.at.Regex && path != g.at.Path {
		g.add(uri.Escape(g.at.Path), Literal, nil)
		g.add(target, Matching, nil)
	}
}

// encodings adds probes with other spellings of a path.
func (g *generator) encodings(path string) {
	bare := strings.TrimSuffix(path, "/")
	target := uri.Escape(path)
	g.add("/"+target, DoubleSlash, nil)
	if i := strings.LastIndexByte(bare, '/'); i > 0 {
		g.add(uri.Escape(bare[:i])+"/"+uri.Escape(bare[i:]), DoubleSlash, nil)
		g.add(uri.Escape(bare[:i])+"%2F"+uri.Escape(bare[i+1:]), EncodedSlash, nil)
	}
	g.add(uri.Escape(bare)+"%2Fsegment", EncodedSlash, nil)
	if i := strings.IndexFunc(path, letter); i >= 0 {
		g.add(fmt.Sprintf("%s%%%02X%s", uri.Escape(path[:i]), path[i], uri.Escape(path[i+1:])), EncodedLetter, nil)
	}
	g.add("/other/.."+target, DotSegment, nil)
	g.add("/other/%2e%2E"+target, DotSegment, nil)
	g.add(uri.Escape(bare)+"/../segment", DotSegment, nil)
	g.add(uri.Escape(bare)+"/.", FinalDot, nil)
	g.add(uri.Escape(bare)+"/..", FinalDot, nil)
	g.add(uri.Escape(bare)+";a=b", MatrixSuffix, nil)
	g.add(uri.Escape(bare)+"%00", Malformed, nil)
	g.add(uri.Escape(bare)+"%zz", Malformed, nil)
}

func letter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

// otherCase returns a path with the other case of its letters of ASCII.
func otherCase(path string) string {
	return strings.Map(func(r rune) rune {
		if letter(r) {
			return r ^ 0x20
		}
		return r
	}, path)
}

// sample returns a path that begins as a regular expression demands. Where the expression cannot be parsed, it is the
// text before the first special character.
func sample(pattern string) string {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		if i := strings.IndexAny(pattern, `\^$.|?*+()[]{}`); i >= 0 {
			pattern = pattern[:i]
		}
		return rooted(pattern)
	}
	var out strings.Builder
	write(&out, parsed)
	return rooted(out.String())
}

func rooted(path string) string {
	if !strings.HasPrefix(path, "/") {
		return "/" + path
	}
	return path
}

// mostSample bounds what is written for an expression, in bytes.
const mostSample = 1024

// write appends a text that an expression matches.
func write(out *strings.Builder, re *syntax.Regexp) {
	if out.Len() > mostSample {
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		_, _ = out.WriteString(string(re.Rune)) // It never fails.
	case syntax.OpCharClass:
		_, _ = out.WriteRune(member(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		_ = out.WriteByte('x')
	case syntax.OpRepeat:
		for range max(re.Min, 1) {
			write(out, re.Sub[0])
		}
	case syntax.OpCapture, syntax.OpStar, syntax.OpPlus, syntax.OpAlternate:
		write(out, re.Sub[0])
	case syntax.OpConcat:
		for _, one := range re.Sub {
			write(out, one)
		}
	default: // Optional parts, and conditions without text.
	}
}

// member returns a character of a class: a letter if there is one.
func member(ranges []rune) rune {
	for _, wanted := range []rune{'a', 'A', '0', '-', '/'} {
		for i := 0; i+1 < len(ranges); i += 2 {
			if ranges[i] <= wanted && wanted <= ranges[i+1] {
				return wanted
			}
		}
	}
	for i := 0; i+1 < len(ranges); i += 2 {
		if low := max(ranges[i], '!'); low <= ranges[i+1] {
			return low
		}
	}
	return 'x'
}
