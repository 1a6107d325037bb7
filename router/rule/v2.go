package rule

import (
	"strings"

	"github.com/sluiceproxy/sluice/router/rule/expression"
)

// ParseV2 reads a rule in the v2 language, as [Parse] does one in v3. The rule has v3 matchers: several arguments
// become alternatives, those of Query become conditions, and {name:regexp} becomes a regular expression. A failure is
// always an [*Error]. Host of v2 has no wildcards.
func ParseV2(text string) (*Rule, error) {
	root, err := v2().Parse(text)
	if err != nil {
		return nil, err
	}
	return newRule(text, root), nil
}

// v2 lists the matchers of the v2 language. What they build are v3 matchers.
func v2() expression.Language[Request] {
	const many = expression.Unbounded
	return expression.Language[Request]{
		{Name: "Host", Min: 1, Max: many, Build: each(v2Host)},
		{Name: "HostHeader", Min: 1, Max: many, Build: each(v2Host)},
		{Name: "HostRegexp", Min: 1, Max: many, Build: each(v2HostRegexp)},
		{Name: "ClientIP", Min: 1, Max: many, Build: each(newClientIP)},
		{Name: "Path", Min: 1, Max: many, Build: each(v2Path)},
		{Name: "PathPrefix", Min: 1, Max: many, Build: each(v2PathPrefix)},
		{Name: "Method", Min: 1, Max: many, Build: each(newMethod)},
		{Name: "Headers", Min: 2, Max: many, Build: pairs(newHeader)},
		{Name: "HeadersRegexp", Min: 2, Max: many, Build: pairs(newHeaderRegexp)},
		{Name: "Query", Min: 1, Max: many, Build: v2Query},
	}
}

// build is the type of constructors of matchers.
type build = func(args []string, b *budget) (node, *fault)

// each applies a constructor of one argument to several, one of which a request has to satisfy.
func each(one build) build {
	return func(args []string, b *budget) (node, *fault) {
		nodes := make([]node, 0, len(args))
		for i := range args {
			n, wrong := one(args[i:i+1], b)
			if wrong != nil {
				return nil, &fault{Arg: i, Message: wrong.Message}
			}
			nodes = append(nodes, n)
		}
		return expression.Disjunction(nodes), nil
	}
}

// pairs applies a constructor of a name and a value to several, all of which a request has to satisfy.
func pairs(one build) build {
	return func(args []string, b *budget) (node, *fault) {
		if len(args)%2 != 0 {
			return nil, expression.Faultf(len(args)-1, "%q has no value; names and values come in turn",
				expression.Clip(args[len(args)-1]))
		}
		nodes := make([]node, 0, len(args)/2)
		for i := 0; i < len(args); i += 2 {
			n, wrong := one(args[i:i+2], b)
			if wrong != nil {
				return nil, &fault{Arg: i + max(wrong.Arg, 0), Message: wrong.Message}
			}
			nodes = append(nodes, n)
		}
		return expression.Conjunction(nodes), nil
	}
}

// v2Host builds one argument of Host, which is compared as it is: in v2, a wildcard matched nothing.
func v2Host(args []string, b *budget) (node, *fault) {
	if strings.Contains(args[0], "*") {
		return nil, expression.Faultf(0, "%q: the v2 syntax has no wildcards; write "+
			"HostRegexp(`{name:[a-z0-9-]+}.example.com`), "+
			"or use the v3 syntax", expression.Clip(args[0]))
	}
	return newHost(args, b)
}

func v2HostRegexp(args []string, b *budget) (node, *fault) {
	t, wrong := parseTemplate(args[0], "[^.]+")
	switch {
	case wrong != nil:
		return nil, wrong
	case !t.varies() && strings.ContainsAny(args[0], `^$()[]+?|\`):
		return nil, expression.Faultf(0, "%q is a regular expression; v2 has them in braces, as in {name:regexp}",
			expression.Clip(args[0]))
	case !t.varies():
		return v2Host(args, b)
	}
	pattern := t.lowerLiterals().expression(true)
	if !t.caseless() {
		pattern = "(?i)" + pattern
	}
	return newHostRegexp([]string{pattern}, b)
}

func v2Path(args []string, b *budget) (node, *fault) {
	t, wrong := parseTemplate(args[0], "[^/]+")
	switch {
	case wrong != nil:
		return nil, wrong
	case !t.varies() || !strings.HasPrefix(args[0], "/"):
		return newPath(args, b)
	}
	return newPathRegexp([]string{t.expression(true)}, b)
}

func v2PathPrefix(args []string, b *budget) (node, *fault) {
	t, wrong := parseTemplate(args[0], "[^/]+")
	switch {
	case wrong != nil:
		return nil, wrong
	case !t.varies() || !strings.HasPrefix(args[0], "/"):
		return newPathPrefix(args, b)
	}
	return newPathRegexp([]string{t.expression(false)}, b)
}

// v2Query builds Query, whose arguments are pairs as in `name=value`, or names and values in turn.
func v2Query(args []string, b *budget) (node, *fault) {
	var flat []string
	for _, arg := range args {
		flat = append(flat, strings.SplitN(arg, "=", 2)...)
	}
	if len(flat)%2 != 0 {
		return nil, expression.Faultf(len(args)-1, "%q has no value; v2 takes pairs such as `name=value`, and "+
			"`name=` for any value",
			expression.Clip(args[len(args)-1]))
	}
	nodes := make([]node, 0, len(flat)/2)
	for i := 0; i < len(flat); i += 2 {
		n, wrong := v2QueryPair(flat[i], flat[i+1], b)
		if wrong != nil {
			return nil, &fault{Arg: -1, Message: wrong.Message}
		}
		nodes = append(nodes, n)
	}
	return expression.Conjunction(nodes), nil
}

// v2QueryPair builds one pair of Query, in which an empty value means any.
func v2QueryPair(parameter, value string, b *budget) (node, *fault) {
	t, wrong := parseTemplate(value, ".*")
	switch {
	case wrong != nil:
		return nil, wrong
	case parameter == "":
		return nil, expression.Faultf(0, "a parameter without a name")
	case value == "":
		return newQueryRegexp([]string{parameter, ".*"}, b)
	case t.varies():
		return newQueryRegexp([]string{parameter, t.expression(true)}, b)
	}
	return newQuery([]string{parameter, value}, b)
}
