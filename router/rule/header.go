package rule

import (
	"net/http"
	"regexp"
	"slices"

	"github.com/sluiceproxy/sluice/router/rule/expression"
)

// headerEqual is Header: one of the values is equal.
type headerEqual struct{ header, value string }

func (m *headerEqual) Match(r *Request) bool { return slices.Contains(r.Header[m.header], m.value) }
func (m *headerEqual) Name() string          { return "Header" }
func (m *headerEqual) Args() []string        { return []string{m.header, m.value} }
func (m *headerEqual) Saw(r *Request) string { return sawHeader(r, m.header) }

// headerRegexp is HeaderRegexp: one of the values matches somewhere.
type headerRegexp struct {
	header, pattern string
	re              *regexp.Regexp
}

func (m *headerRegexp) Match(r *Request) bool {
	for _, value := range r.Header[m.header] {
		if m.re.MatchString(value) {
			return true
		}
	}
	return false
}
func (m *headerRegexp) Name() string          { return "HeaderRegexp" }
func (m *headerRegexp) Args() []string        { return []string{m.header, m.pattern} }
func (m *headerRegexp) Saw(r *Request) string { return sawHeader(r, m.header) }

func sawHeader(r *Request, header string) string {
	if header == "Host" {
		return "the host is not among the headers, use the matcher Host"
	}
	return "the header " + header + sawValues(r.Header[header])
}

// sawValues lists values for a sentence that names their owner.
func sawValues(values []string) string {
	if len(values) == 0 {
		return " is absent"
	}
	return " is " + expression.List(values)
}

func newHeader(args []string, _ *budget) (node, *fault) {
	header, wrong := headerName(args[0])
	if wrong != nil {
		return nil, wrong
	}
	return &headerEqual{header: header, value: args[1]}, nil
}

func newHeaderRegexp(args []string, b *budget) (node, *fault) {
	header, wrong := headerName(args[0])
	if wrong != nil {
		return nil, wrong
	}
	re, wrong := b.Compile(1, args[1])
	if wrong != nil {
		return nil, wrong
	}
	return &headerRegexp{header: header, pattern: args[1], re: re}, nil
}

func headerName(written string) (string, *fault) {
	if !isToken(written) {
		return "", expression.Faultf(0, "%q is not a header name", expression.Clip(written))
	}
	return http.CanonicalHeaderKey(written), nil
}
