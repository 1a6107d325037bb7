package rule

import (
	"regexp"
	"strconv"
	"strings"
)

// pathExact is Path.
type pathExact struct{ path string }

func (m *pathExact) match(r *Request) bool { return r.Path == m.path }
func (m *pathExact) name() string          { return "Path" }
func (m *pathExact) args() []string        { return []string{m.path} }
func (m *pathExact) saw(r *Request) string { return sawPath(r) }
func (m *pathExact) key() Key              { return Key{PathKind: ExactPath, Path: m.path} }

// pathPrefix is PathPrefix: a prefix of bytes, not of segments.
type pathPrefix struct{ prefix string }

func (m *pathPrefix) match(r *Request) bool { return strings.HasPrefix(r.Path, m.prefix) }
func (m *pathPrefix) name() string          { return "PathPrefix" }
func (m *pathPrefix) args() []string        { return []string{m.prefix} }
func (m *pathPrefix) saw(r *Request) string { return sawPath(r) }
func (m *pathPrefix) key() Key              { return Key{PathKind: PrefixPath, Path: m.prefix} }

// pathRegexp is PathRegexp, which is not anchored.
type pathRegexp struct {
	pattern string
	re      *regexp.Regexp
}

func (m *pathRegexp) match(r *Request) bool { return m.re.MatchString(r.Path) }
func (m *pathRegexp) name() string          { return "PathRegexp" }
func (m *pathRegexp) args() []string        { return []string{m.pattern} }
func (m *pathRegexp) saw(r *Request) string { return sawPath(r) }

func sawPath(r *Request) string { return "the path is " + strconv.Quote(clip(r.Path)) }

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

func newPathRegexp(args []string, b *budget) (node, *fault) {
	re, wrong := b.compile(0, args[0])
	if wrong != nil {
		return nil, wrong
	}
	return &pathRegexp{pattern: args[0], re: re}, nil
}

// checkPath refuses what no path begins with, and the templates of v2, which would only ever match literally.
func checkPath(path string) *fault {
	if !strings.HasPrefix(path, "/") {
		return faultf(0, "%q does not begin with a slash", clip(path))
	}
	if name := templateIn(path); name != "" {
		return faultf(0, "{%s} is a template of the v2 language; v3 has PathRegexp", clip(name))
	}
	return nil
}
