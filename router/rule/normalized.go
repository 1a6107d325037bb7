package rule

import (
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/nginx/pcre"
	"github.com/sluiceproxy/sluice/router/rule/expression"
)

// normalizedPath is NormalizedPath.
type normalizedPath struct{ path string }

func (m *normalizedPath) Match(r *Request) bool { return r.Normalized() == m.path }
func (m *normalizedPath) Name() string          { return "NormalizedPath" }
func (m *normalizedPath) Args() []string        { return []string{m.path} }
func (m *normalizedPath) Saw(r *Request) string { return sawNormalized(r) }
func (m *normalizedPath) key() Key              { return Key{PathKind: ExactNormalized, Path: m.path} }

// normalizedPrefix is NormalizedPathPrefix: a prefix of bytes, not of segments.
type normalizedPrefix struct{ prefix string }

func (m *normalizedPrefix) Match(r *Request) bool { return strings.HasPrefix(r.Normalized(), m.prefix) }
func (m *normalizedPrefix) Name() string          { return "NormalizedPathPrefix" }
func (m *normalizedPrefix) Args() []string        { return []string{m.prefix} }
func (m *normalizedPrefix) Saw(r *Request) string { return sawNormalized(r) }
func (m *normalizedPrefix) key() Key              { return Key{PathKind: PrefixNormalized, Path: m.prefix} }

// normalizedRegexp is NormalizedPathRegexp, which is not anchored.
type normalizedRegexp struct{ re *pcre.Regexp }

func (m *normalizedRegexp) Match(r *Request) bool {
	path := r.Normalized()
	return path != "" && m.re.Match(path)
}
func (m *normalizedRegexp) Name() string          { return "NormalizedPathRegexp" }
func (m *normalizedRegexp) Args() []string        { return []string{m.re.String()} }
func (m *normalizedRegexp) Saw(r *Request) string { return sawNormalized(r) }

func sawNormalized(r *Request) string {
	if path := r.Normalized(); path != "" {
		return "the normalised path is " + strconv.Quote(expression.Clip(path))
	}
	return "the path has no normalised form"
}

func newNormalizedPath(args []string, _ *budget) (node, *fault) {
	if wrong := checkNormalized(args[0]); wrong != nil {
		return nil, wrong
	}
	return &normalizedPath{path: args[0]}, nil
}

func newNormalizedPathPrefix(args []string, _ *budget) (node, *fault) {
	if wrong := checkNormalized(args[0]); wrong != nil {
		return nil, wrong
	}
	return &normalizedPrefix{prefix: args[0]}, nil
}

// checkNormalized refuses what no normalised path begins with. Braces are ordinary characters of it.
func checkNormalized(path string) *fault {
	if !strings.HasPrefix(path, "/") {
		return expression.Faultf(0, "%q does not begin with a slash", expression.Clip(path))
	}
	return nil
}

func newNormalizedPathRegexp(args []string, b *budget) (node, *fault) {
	re, wrong := b.CompilePCRE(0, args[0])
	if wrong != nil {
		return nil, wrong
	}
	return &normalizedRegexp{re: re}, nil
}
