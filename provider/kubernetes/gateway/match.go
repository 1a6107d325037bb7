package gateway

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
)

// ruleMatch is one match of a rule.
type ruleMatch struct {
	parts []dynamic.Match
	// keys are those of Router.Precedence after that of the hostname.
	keys []int64
	// prefix is the path prefix that matches; / where there is none.
	prefix string
}

// The kinds of path matches in the order of their precedence.
const (
	pathPrefix int64 = iota + 1
	pathRegexp
	pathExact
)

// mostMatches bounds what a rule's matches count for in the order of routers.
const mostMatches = 1 << 20

// matcher returns a call of a matcher of the rule language.
func matcher(name string, args ...string) dynamic.Match { return dynamic.Match{Name: name, Args: args} }

// expression checks a regular expression.
func expression(text string) error {
	if _, err := regexp.Compile(text); err != nil {
		return fmt.Errorf("the regular expression is not one of RE2: %w", err)
	}
	if _, err := syntax.Parse(text, syntax.Perl); err != nil {
		return err
	}
	return nil
}

// whole returns a regular expression that matches the whole of a text.
func whole(text string) string { return "^(?:" + text + ")$" }

// httpMatch translates a match of an HTTPRoute.
func httpMatch(match *gatewayv1.HTTPRouteMatch) (*ruleMatch, error) {
	made := &ruleMatch{prefix: "/"}
	kind, value := gatewayv1.PathMatchPathPrefix, "/"
	if match.Path != nil {
		kind, value = valueOf(match.Path.Type, kind), valueOf(match.Path.Value, value)
	}
	path, order, err := made.path(kind, value)
	if err != nil {
		return nil, err
	}
	made.parts = append(made.parts, path)
	method := int64(0)
	if match.Method != nil {
		method = 1
		made.parts = append(made.parts, matcher("Method", string(*match.Method)))
	}
	headers, err := made.headers(len(match.Headers), func(i int) (string, string, string) {
		h := &match.Headers[i]
		return string(valueOf(h.Type, gatewayv1.HeaderMatchExact)), string(h.Name), h.Value
	})
	if err != nil {
		return nil, err
	}
	queries, seen := int64(0), map[string]bool{}
	for i := range match.QueryParams {
		one := &match.QueryParams[i]
		if seen[string(one.Name)] {
			continue
		}
		seen[string(one.Name)] = true
		queries++
		name, expected := "Query", one.Value
		if valueOf(one.Type, gatewayv1.QueryParamMatchExact) == gatewayv1.QueryParamMatchRegularExpression {
			name, expected = "QueryRegexp", whole(one.Value)
			if err := expression(one.Value); err != nil {
				return nil, err
			}
		}
		made.parts = append(made.parts, matcher(name, string(one.Name), expected))
	}
	made.keys = []int64{order, int64(len(value)), method, headers, queries}
	return made, nil
}

// path translates a path match. Exact paths and prefixes are compared in the form in which requests are routed.
func (m *ruleMatch) path(kind gatewayv1.PathMatchType, value string) (path dynamic.Match, order int64, err error) {
	name, ending := "Path", "$"
	switch kind {
	case gatewayv1.PathMatchExact:
		order = pathExact
	case gatewayv1.PathMatchPathPrefix:
		name, ending, order = "PathSegmentPrefix", "(?:/|$)", pathPrefix
		if value = strings.TrimRight(value, "/"); value == "" {
			return matcher("PathPrefix", "/"), order, nil
		}
		m.prefix = value
	case gatewayv1.PathMatchRegularExpression:
		return matcher("PathRegexp", whole(value)), pathRegexp, expression(value)
	default:
		return path, 0, fmt.Errorf("the type of path match %s is not supported", kind)
	}
	routing, err := canonical.RoutingLiteral(value)
	if strings.Contains(routing, "{") { // The rule language refuses some of them as templates of its second version.
		return matcher("PathRegexp", "^"+regexp.QuoteMeta(routing)+ending), order, err
	}
	return matcher(name, routing), order, err
}

// headers translates matches of headers, of which the first one of a name counts, and returns their number.
func (m *ruleMatch) headers(count int, at func(int) (kind, name, value string)) (int64, error) {
	seen := map[string]bool{}
	for i := range count {
		kind, name, value := at(i)
		if lower := strings.ToLower(name); seen[lower] {
			continue
		} else {
			seen[lower] = true
		}
		if kind == string(gatewayv1.HeaderMatchRegularExpression) {
			if err := expression(value); err != nil {
				return 0, err
			}
			m.parts = append(m.parts, matcher("HeaderRegexp", name, whole(value)))
			continue
		}
		m.parts = append(m.parts, matcher("Header", name, value))
	}
	return int64(len(seen)), nil
}

// grpcMatch translates a match of a GRPCRoute.
func grpcMatch(match *gatewayv1.GRPCRouteMatch) (*ruleMatch, error) {
	made := &ruleMatch{prefix: "/"}
	service, method, regular := "", "", false
	if match.Method != nil {
		service, method = valueOf(match.Method.Service, ""), valueOf(match.Method.Method, "")
		regular = valueOf(match.Method.Type, gatewayv1.GRPCMethodMatchExact) == gatewayv1.GRPCMethodMatchRegularExpression
	}
	path, order := matcher("PathPrefix", "/"), int64(0)
	switch {
	case service == "" && method == "":
	case regular || service == "":
		order = pathRegexp
		first, second := "[^/]+", "[^/]+"
		if service != "" {
			first = "(?:" + service + ")"
		}
		if method != "" {
			second = "(?:" + method + ")"
			if !regular {
				second = regexp.QuoteMeta(method)
			}
		}
		text := "^/" + first + "/" + second + "$"
		if err := expression(text); err != nil {
			return nil, err
		}
		path = matcher("PathRegexp", text)
		if service == "" {
			order = 0 // The characters of the service come before those of the method.
		}
	case method == "":
		path, order = matcher("PathPrefix", "/"+service+"/"), pathPrefix
	default:
		path, order = matcher("Path", "/"+service+"/"+method), pathExact
	}
	made.parts = append(made.parts, path)
	headers, err := made.headers(len(match.Headers), func(i int) (string, string, string) {
		h := &match.Headers[i]
		return string(valueOf(h.Type, gatewayv1.GRPCHeaderMatchExact)), string(h.Name), h.Value
	})
	if err != nil {
		return nil, err
	}
	made.keys = []int64{order, int64(len(service))*mostMatches + int64(len(method)), 0, headers}
	return made, nil
}

// hostGroup are hostnames of equal precedence.
type hostGroup struct {
	// key is that of Router.Precedence; it is larger the more specific the hostnames are.
	key   int64
	match *dynamic.Match
}

// exactHost is the key of hostnames without a wildcard, above those of all others.
const exactHost = mostMatches

// hostGroups returns the hostnames of a route by their precedence. No hostnames are one group that matches all.
func hostGroups(hostnames []string) []hostGroup {
	if len(hostnames) == 0 {
		return []hostGroup{{}}
	}
	var groups []hostGroup
	add := func(key int64, match dynamic.Match) {
		for i := range groups {
			if groups[i].key == key {
				groups[i].match.Any = append(groups[i].match.Any, match)
				return
			}
		}
		groups = append(groups, hostGroup{key, &dynamic.Match{Any: []dynamic.Match{match}}})
	}
	for _, hostname := range hostnames {
		if suffix, wild := strings.CutPrefix(hostname, "*."); wild {
			add(int64(len(hostname)), matcher("HostSuffix", suffix))
		} else {
			add(exactHost, matcher("Host", hostname))
		}
	}
	return groups
}

// suffix returns what distinguishes the group in names of routers; nothing where it is the only one.
func (g hostGroup) suffix(groups int) string {
	switch {
	case groups == 1:
		return ""
	case g.key == exactHost:
		return ".exact"
	}
	return ".wild" + strconv.FormatInt(g.key, 10)
}

// match returns the whole match of a router.
func (g hostGroup) with(parts []dynamic.Match) *dynamic.Match {
	all := make([]dynamic.Match, 0, len(parts)+1)
	if g.match != nil {
		all = append(all, *g.match)
	}
	return &dynamic.Match{All: append(all, parts...)}
}
