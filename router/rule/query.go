package rule

import (
	"regexp"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/router/rule/expression"
)

// queryEqual is Query: the parameter is there and one of its values is equal. Without a value in the rule that is
// the empty string.
type queryEqual struct{ parameter, value string }

func (m *queryEqual) Match(r *Request) bool { return slices.Contains(r.values(m.parameter), m.value) }
func (m *queryEqual) Name() string          { return "Query" }
func (m *queryEqual) Saw(r *Request) string { return sawQuery(r, m.parameter) }
func (m *queryEqual) Args() []string {
	if m.value == "" {
		return []string{m.parameter}
	}
	return []string{m.parameter, m.value}
}

// queryRegexp is QueryRegexp with a pattern: one of the parameter's values matches somewhere.
type queryRegexp struct {
	parameter, pattern string
	re                 *regexp.Regexp
}

func (m *queryRegexp) Match(r *Request) bool {
	return slices.ContainsFunc(r.values(m.parameter), m.re.MatchString)
}
func (m *queryRegexp) Name() string          { return "QueryRegexp" }
func (m *queryRegexp) Args() []string        { return []string{m.parameter, m.pattern} }
func (m *queryRegexp) Saw(r *Request) string { return sawQuery(r, m.parameter) }

func sawQuery(r *Request, parameter string) string {
	return "the query parameter " + parameter + sawValues(r.values(parameter))
}

func newQuery(args []string, _ *budget) (node, *fault) {
	pairs := true
	for _, arg := range args {
		pairs = pairs && strings.Contains(arg, "=")
	}
	if pairs {
		return nil, expression.Faultf(0, "%q is a pair of the v2 language; v3 takes two arguments, %s",
			expression.Clip(args[0]), expression.Clip(pairInV3(args[0])))
	}
	if len(args) == 1 {
		return &queryEqual{parameter: args[0]}, nil
	}
	return &queryEqual{parameter: args[0], value: args[1]}, nil
}

// pairInV3 returns the v3 spelling of a pair of the v2 language, in which "name=" means any value.
func pairInV3(pair string) string {
	name, value, _ := strings.Cut(pair, "=")
	if value == "" {
		return expression.PrintCall("QueryRegexp", []string{name, ".*"})
	}
	return expression.PrintCall("Query", []string{name, value})
}

// newQueryRegexp builds QueryRegexp. Without a pattern it means the same as Query.
func newQueryRegexp(args []string, b *budget) (node, *fault) {
	if len(args) == 1 {
		return newQuery(args, b)
	}
	re, wrong := b.Compile(1, args[1])
	if wrong != nil {
		return nil, wrong
	}
	return &queryRegexp{parameter: args[0], pattern: args[1], re: re}, nil
}
