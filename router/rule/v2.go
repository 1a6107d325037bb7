package rule

import (
	"math"
	"strings"
)

// ParseV2Hint returns the v3 spelling of a rule that only the v2 language understands: several arguments of one
// matcher, HostHeader, Headers, HeadersRegexp, Query(`k=v`), and {name:regexp} in HostRegexp, Path, PathPrefix and
// Query. It is false for a rule that is v3 already and for one that is neither.
func ParseV2Hint(text string) (v3 string, ok bool) {
	if _, err := Parse(text); err == nil {
		return "", false
	}
	root, err := parse(text, v2Matcher, v2Names())
	if err != nil {
		return "", false
	}
	v3 = printNode(root)
	if _, err := Parse(v3); err != nil {
		return "", false
	}
	return v3, true
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
		return spec{name, 1, math.MaxInt, each(newHost, disjunction)}, true
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
		return spec{name, 2, 2, newHeader}, true
	case "HeadersRegexp":
		return spec{name, 2, 2, newHeaderRegexp}, true
	case "Query":
		return spec{name, 1, math.MaxInt, each(v2Query, conjunction)}, true
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

func v2HostRegexp(args []string, b *budget) (node, *fault) {
	t := parseTemplate(args[0], "[^.]+").lowerLiterals()
	if !t.varies() {
		return newHost(args, b)
	}
	return newHostRegexp([]string{t.expression(true)}, b)
}

func v2Path(args []string, b *budget) (node, *fault) {
	t := parseTemplate(args[0], "[^/]+")
	if !t.varies() || !strings.HasPrefix(args[0], "/") {
		return newPath(args, b)
	}
	return newPathRegexp([]string{t.expression(true)}, b)
}

func v2PathPrefix(args []string, b *budget) (node, *fault) {
	t := parseTemplate(args[0], "[^/]+")
	if !t.varies() || !strings.HasPrefix(args[0], "/") {
		return newPathPrefix(args, b)
	}
	return newPathRegexp([]string{t.expression(false)}, b)
}

// v2Query builds one pair of Query, for which "k=" means any value.
func v2Query(args []string, b *budget) (node, *fault) {
	parameter, value, pair := strings.Cut(args[0], "=")
	t := parseTemplate(value, ".*")
	switch {
	case pair && value == "":
		return newQueryRegexp([]string{parameter, ".*"}, b)
	case t.varies():
		return newQueryRegexp([]string{parameter, t.expression(true)}, b)
	case pair:
		return newQuery([]string{parameter, value}, b)
	default:
		return newQuery(args, b)
	}
}
