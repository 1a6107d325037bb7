package rule

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/router/rule/expression"
)

// pathExact is Path.
type pathExact struct{ path string }

func (m *pathExact) Match(r *Request) bool { return r.Path == m.path }
func (m *pathExact) Name() string          { return "Path" }
func (m *pathExact) Args() []string        { return []string{m.path} }
func (m *pathExact) Saw(r *Request) string { return sawPath(r) }
func (m *pathExact) key() Key              { return Key{PathKind: ExactPath, Path: m.path} }

// pathPrefix is PathPrefix: a prefix of bytes, not of segments.
type pathPrefix struct{ prefix string }

func (m *pathPrefix) Match(r *Request) bool { return strings.HasPrefix(r.Path, m.prefix) }
func (m *pathPrefix) Name() string          { return "PathPrefix" }
func (m *pathPrefix) Args() []string        { return []string{m.prefix} }
func (m *pathPrefix) Saw(r *Request) string { return sawPath(r) }
func (m *pathPrefix) key() Key              { return Key{PathKind: PrefixPath, Path: m.prefix} }

// pathSegmentPrefix is PathSegmentPrefix. The prefix has no slash at its end, so that it is empty for "/".
type pathSegmentPrefix struct{ prefix string }

func (m *pathSegmentPrefix) Match(r *Request) bool { return hasSegments(r.Path, m.prefix) }
func (m *pathSegmentPrefix) Name() string          { return "PathSegmentPrefix" }
func (m *pathSegmentPrefix) Args() []string        { return []string{cmp.Or(m.prefix, "/")} }
func (m *pathSegmentPrefix) Saw(r *Request) string { return sawPath(r) }

// key proposes /foobar for /foo as well, which the rule excludes.
func (m *pathSegmentPrefix) key() Key { return Key{PathKind: PrefixPath, Path: m.Args()[0]} }

// hasSegments reports whether a path begins with the whole segments of a prefix without a slash at its end.
func hasSegments(path, prefix string) bool {
	rest, found := strings.CutPrefix(path, prefix)
	if rest == "" {
		return found && prefix != ""
	}
	return found && rest[0] == '/'
}

// pathRegexp is PathRegexp, which is not anchored.
type pathRegexp struct {
	pattern string
	re      *regexp.Regexp
}

func (m *pathRegexp) Match(r *Request) bool { return m.re.MatchString(r.Path) }
func (m *pathRegexp) Name() string          { return "PathRegexp" }
func (m *pathRegexp) Args() []string        { return []string{m.pattern} }
func (m *pathRegexp) Saw(r *Request) string { return sawPath(r) }

func sawPath(r *Request) string { return "the path is " + strconv.Quote(expression.Clip(r.Path)) }

func newPath(args []string, _ *budget) (node, *fault) {
	if wrong := checkPath(args[0]); wrong != nil {
		return nil, wrong
	}
	return &pathExact{path: args[0]}, nil
}

func newPathPrefix(args []string, _ *budget) (node, *fault) {
	if wrong := checkPath(args[0]); wrong != nil {
		return nil, wrong
	}
	return &pathPrefix{prefix: args[0]}, nil
}

func newPathSegmentPrefix(args []string, _ *budget) (node, *fault) {
	if wrong := checkPath(args[0]); wrong != nil {
		return nil, wrong
	}
	return &pathSegmentPrefix{prefix: strings.TrimSuffix(args[0], "/")}, nil
}

func newPathRegexp(args []string, b *budget) (node, *fault) {
	re, wrong := b.Compile(0, args[0])
	if wrong != nil {
		return nil, wrong
	}
	return &pathRegexp{pattern: args[0], re: re}, nil
}

// checkPath refuses what no path begins with, and the templates of v2, which would only ever match literally.
func checkPath(path string) *fault {
	if !strings.HasPrefix(path, "/") {
		return expression.Faultf(0, "%q does not begin with a slash", expression.Clip(path))
	}
	if name := templateIn(path); name != "" {
		return expression.Faultf(0, "{%s} is a template of the v2 language; v3 has PathRegexp", expression.Clip(name))
	}
	return nil
}
