package ingress

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sluiceproxy/sluice/document"
)

// The matchers of the rule language that an Ingress is made of.
const (
	matchHost   = "Host"
	matchPath   = "Path"
	matchPrefix = "PathPrefix"
	matchRegexp = "PathRegexp"
)

// catchAll is the rule that every request satisfies.
const catchAll = matchPrefix + `("/")`

// ruleOf returns the rule of one path of an Ingress. Host and path are untrusted text: they are quoted strings in the
// rule.
func ruleOf(host string, path *networkingv1.HTTPIngressPath, options *routerOptions, strict bool) (string, error) {
	var parts []string
	if host != "" {
		part, err := hostRule(host)
		if domain, wildcard := strings.CutPrefix(host, "*."); wildcard && options.v2() && braces(path.Path) {
			part = call("HostRegexp", "{subdomain:[a-zA-Z0-9-]+}."+domain) // Host of v2 has no wildcards.
		}
		if err != nil {
			return "", err
		}
		parts = append(parts, part)
	}
	if path.Path != "" {
		part, err := pathRule(path, options, strict)
		if err != nil {
			return "", err
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return catchAll, nil
	}
	return strings.Join(parts, " && "), nil
}

// hostRule refuses what the API server would not have let pass.
func hostRule(host string) (string, error) {
	var wrong []string
	if strings.HasPrefix(host, "*.") {
		wrong = validation.IsWildcardDNS1123Subdomain(host)
	} else {
		wrong = validation.IsDNS1123Subdomain(host)
	}
	if len(wrong) > 0 {
		return "", fmt.Errorf("host %q is no DNS name, nor one with *. in front", host)
	}
	return call(matchHost, host), nil
}

func pathRule(path *networkingv1.HTTPIngressPath, options *routerOptions, strict bool) (string, error) {
	matcher, err := matcherOf(path.PathType, options)
	if err != nil {
		return "", err
	}
	if matcher != matchRegexp && !strings.HasPrefix(path.Path, "/") {
		return "", fmt.Errorf("path %q does not begin with a slash", path.Path)
	}
	switch {
	case matcher == matchPrefix && strict && path.Path != "/":
		stem := strings.TrimSuffix(path.Path, "/")
		return "(" + literal(matchPath, stem, options) + " || " + literal(matchPrefix, stem+"/", options) + ")", nil
	case matcher == matchRegexp:
		return call(matchRegexp, path.Path), nil
	}
	return literal(matcher, path.Path, options), nil
}

// matcherOf returns the matcher of a type of path. Only paths without a type of their own take the one of the
// annotation.
func matcherOf(kind *networkingv1.PathType, options *routerOptions) (string, error) {
	switch {
	case kind == nil || *kind == "" || *kind == networkingv1.PathTypeImplementationSpecific:
		return options.matcher()
	case *kind == networkingv1.PathTypeExact:
		return matchPath, nil
	case *kind == networkingv1.PathTypePrefix:
		return matchPrefix, nil
	}
	return "", fmt.Errorf("pathType %q is none of Exact, Prefix and ImplementationSpecific", *kind)
}

// matcher returns the matcher that the annotation router.pathmatcher names.
func (o *routerOptions) matcher() (string, error) {
	known := []string{matchPath, matchPrefix, matchRegexp}
	if o.PathMatcher == "" {
		return matchPrefix, nil
	}
	for _, name := range known {
		if strings.EqualFold(name, o.PathMatcher) {
			return name, nil
		}
	}
	reason := fmt.Sprintf("annotation %srouter.pathmatcher: %q is none of %s", prefix, o.PathMatcher,
		strings.Join(known, ", "))
	if near, found := document.Nearest(o.PathMatcher, known); found {
		reason += fmt.Sprintf(", did you mean %q?", near)
	}
	return "", fmt.Errorf("%s", reason)
}

// literal matches a path as it is written. The rule language refuses braces in paths, which were templates in v2; for
// an Ingress they are characters like any other.
func literal(matcher, path string, options *routerOptions) string {
	if !braces(path) || options.v2() {
		return call(matcher, path)
	}
	pattern := "^" + regexp.QuoteMeta(path)
	if matcher == matchPath {
		pattern += "$"
	}
	return call(matchRegexp, pattern)
}

// braces reports whether a path has something in braces.
func braces(path string) bool {
	_, rest, opened := strings.Cut(path, "{")
	return opened && strings.Contains(rest, "}")
}

// call writes a matcher with one argument. Quoted as in Traefik, it gives the same hashes in the names of routers.
func call(matcher, argument string) string {
	return matcher + "(" + strconv.Quote(argument) + ")"
}
