package rule

import (
	"math"
	"strings"
)

// ParseV2 reads a rule in the v2 language, as [Parse] does one in v3. The rule has v3 matchers: several arguments
// become alternatives, those of Query become conditions, and {name:regexp} becomes a regular expression. A failure is
// always an [*Error]. Host of v2 has no wildcards.
func ParseV2(text string) (*Rule, error) {
	root, err := parse(text, v2Matcher, v2Names())
	if err != nil {
		return nil, err
	}
	return newRule(text, root), nil
}

func v2Names() []string {
	return []string{
		"Host", "HostHeader", "HostRegexp", "ClientIP", "Path", "PathPrefix", "Method", "Headers", "HeadersRegexp", "Query",
	}
}

// v2Matcher finds a matcher of the v2 language by its written name. What it builds are v3 matchers.
func v2Matcher(written string) (spec, bool) {
	name := documented(written, v2Names())
	switch name {
	case "Host", "HostHeader":
		return spec{name, 1, math.MaxInt, each(v2Host, disjunction)}, true
	case "HostRegexp":
		return spec{name, 1, math.MaxInt, each(v2HostRegexp, disjunction)}, true
	case "ClientIP":
		return spec{name, 1, math.MaxInt, each(newClientIP, disjunction)}, true
	case "Path":
		return spec{name, 1, math.MaxInt, each(v2Path, disjunction)}, true
	case "PathPrefix":
		return spec{name, 1, math.MaxInt, each(v2PathPrefix, disjunction)}, true
	case "Method":
		return spec{name, 1, math.MaxInt, each(newMethod, disjunction)}, true
	case "Headers":
		return spec{name, 2, math.MaxInt, pairs(newHeader)}, true
	case "HeadersRegexp":
		return spec{name, 2, math.MaxInt, pairs(newHeaderRegexp)}, true
	case "Query":
		return spec{name, 1, math.MaxInt, v2Query}, true
	}
	return spec{}, false
}

// build is the type of constructors of matchers.
type build = func(args []string, b *budget) (node, *fault)

// each applies a constructor of one argument to several and joins the results.
func each(one build, join func([]node) node) build {
	return func(args []string, b *budget) (node, *fault) {
		nodes := make([]node, 0, len(args))
		for i := range args {
			n, wrong := one(args[i:i+1], b)
			if wrong != nil {
				return nil, &fault{arg: i, message: wrong.message}
			}
			nodes = append(nodes, n)
		}
		return join(nodes), nil
	}
}

// pairs applies a constructor of a name and a value to several, all of which a request has to satisfy.
func pairs(one build) build {
	return func(args []string, b *budget) (node, *fault) {
		if len(args)%2 != 0 {
			return nil, faultf(len(args)-1, "%q has no value; names and values come in turn", clip(args[len(args)-1]))
		}
		nodes := make([]node, 0, len(args)/2)
		for i := 0; i < len(args); i += 2 {
			n, wrong := one(args[i:i+2], b)
			if wrong != nil {
				return nil, &fault{arg: i + max(wrong.arg, 0), message: wrong.message}
			}
			nodes = append(nodes, n)
		}
		return conjunction(nodes), nil
	}
}

// v2Host builds one argument of Host, which is compared as it is: in v2, a wildcard matched nothing.
func v2Host(args []string, b *budget) (node, *fault) {
	if strings.Contains(args[0], "*") {
		return nil, faultf(0, "%q: the v2 syntax has no wildcards; write HostRegexp(`{name:[a-z0-9-]+}.example.com`), "+
			"or use the v3 syntax", clip(args[0]))
	}
	return newHost(args, b)
}

func v2HostRegexp(args []string, b *budget) (node, *fault) {
	t, wrong := parseTemplate(args[0], "[^.]+")
	switch {
	case wrong != nil:
		return nil, wrong
	case !t.varies() && strings.ContainsAny(args[0], `^$()[]+?|\`):
		return nil, faultf(0, "%q is a regular expression; v2 has them in braces, as in {name:regexp}", clip(args[0]))
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
		return nil, faultf(len(args)-1, "%q has no value; v2 takes pairs such as `name=value`, and `name=` for any value",
			clip(args[len(args)-1]))
	}
	nodes := make([]node, 0, len(flat)/2)
	for i := 0; i < len(flat); i += 2 {
		n, wrong := v2QueryPair(flat[i], flat[i+1], b)
		if wrong != nil {
			return nil, &fault{arg: -1, message: wrong.message}
		}
		nodes = append(nodes, n)
	}
	return conjunction(nodes), nil
}

// v2QueryPair builds one pair of Query, in which an empty value means any.
func v2QueryPair(parameter, value string, b *budget) (node, *fault) {
	t, wrong := parseTemplate(value, ".*")
	switch {
	case wrong != nil:
		return nil, wrong
	case parameter == "":
		return nil, faultf(0, "a parameter without a name")
	case value == "":
		return newQueryRegexp([]string{parameter, ".*"}, b)
	case t.varies():
		return newQueryRegexp([]string{parameter, t.expression(true)}, b)
	}
	return newQuery([]string{parameter, value}, b)
}
