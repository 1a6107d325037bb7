package rule

import (
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/router/rule/expression"
)

// methodEqual is Method. The rule's method is in upper case, the request's is taken as sent.
type methodEqual struct{ method string }

func (m *methodEqual) Match(r *Request) bool { return r.Method == m.method }
func (m *methodEqual) Name() string          { return "Method" }
func (m *methodEqual) Args() []string        { return []string{m.method} }
func (m *methodEqual) Saw(r *Request) string {
	return "the method is " + strconv.Quote(expression.Clip(r.Method))
}

func newMethod(args []string, _ *budget) (node, *fault) {
	if !isToken(args[0]) {
		return nil, expression.Faultf(0, "%q is not a method", expression.Clip(args[0]))
	}
	return &methodEqual{method: strings.ToUpper(args[0])}, nil
}

// isToken reports whether s is a token (RFC 9110, section 5.6.2), as methods and header names are.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !expression.IsLetter(c) && !expression.IsDigit(c) && strings.IndexByte("!#$%&'*+-.^`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}
