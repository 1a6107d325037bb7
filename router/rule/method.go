package rule

import (
	"strconv"
	"strings"
)

// methodEqual is Method. The rule's method is in upper case, the request's is taken as sent.
type methodEqual struct{ method string }

func (m *methodEqual) match(r *Request) bool { return r.Method == m.method }
func (m *methodEqual) name() string          { return "Method" }
func (m *methodEqual) args() []string        { return []string{m.method} }
func (m *methodEqual) saw(r *Request) string { return "the method is " + strconv.Quote(clip(r.Method)) }

func newMethod(args []string, _ *budget) (node, *fault) {
	if !isToken(args[0]) {
		return nil, faultf(0, "%q is not a method", clip(args[0]))
	}
	return &methodEqual{method: strings.ToUpper(args[0])}, nil
}

// isToken reports whether s is a token (RFC 9110, section 5.6.2), as methods and header names are.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !isLetter(c) && !isDigit(c) && strings.IndexByte("!#$%&'*+-.^`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}
