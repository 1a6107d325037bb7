package headers

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
)

// nullOrigin is sent by browsers for documents without an origin, such as all sandboxed ones of any site.
const nullOrigin = "null"

// origins are the allowed origins.
type origins struct {
	// configured is set if any are listed, even if all are invalid.
	configured bool
	list       []string
	// any means "*", which ends the list.
	any      bool
	patterns []*regexp.Regexp
}

func newOrigins(config dynamic.Headers) (origins, []string, error) {
	o := origins{configured: len(config.AccessControlAllowOriginList)+len(config.AccessControlAllowOriginListRegex) > 0}
	var warnings []string
	for _, given := range config.AccessControlAllowOriginList {
		switch {
		case !isValue(given):
			return o, nil, fmt.Errorf("headers.accessControlAllowOriginList: %q has a control character", given)
		case given == "*":
			o.any = true
		case given == nullOrigin:
			warnings = append(warnings, "headers.accessControlAllowOriginList: null allows none, because every sandboxed "+
				"document has it")
		case !isOrigin(given):
			warnings = append(warnings, fmt.Sprintf("headers.accessControlAllowOriginList: %q is not an origin such as "+
				"https://example.com:8443 and allows none", given))
		case !o.any:
			o.list = append(o.list, given)
		}
	}
	for _, expression := range config.AccessControlAllowOriginListRegex {
		if expression == "" {
			return o, nil, errors.New("headers.accessControlAllowOriginListRegex: an empty expression names no origin")
		}
		pattern, err := originPattern(expression)
		if err != nil {
			return o, nil, fmt.Errorf("headers.accessControlAllowOriginListRegex: %w", err)
		}
		o.patterns = append(o.patterns, pattern)
	}
	if o.any && config.AccessControlAllowCredentials {
		warnings = append(warnings, "headers.accessControlAllowOriginList: with accessControlAllowCredentials * lets every "+
			"site act and read as its visitor")
	}
	return o, warnings, nil
}

// allow returns the value of Access-Control-Allow-Origin for a request's origin. Scheme and host are compared ignoring
// case; the value is as sent, because browsers compare bytes. Invalid origins and null are not allowed.
func (o *origins) allow(origin string, credentials bool) (value string, ok bool) {
	known := isOrigin(origin)
	if known && slices.ContainsFunc(o.list, func(item string) bool { return strings.EqualFold(item, origin) }) {
		return origin, true
	}
	if o.any && !credentials {
		return "*", true
	}
	if known && (o.any || slices.ContainsFunc(o.patterns, func(p *regexp.Regexp) bool { return p.MatchString(origin) })) {
		return origin, true
	}
	return "", false
}

// isOrigin reports whether s is an ASCII origin.
func isOrigin(s string) bool {
	_, _, ok := canonical.Origin(s)
	return ok
}

// originPattern compiles an expression such that it cannot match a part of another host. It must match up to the end of
// the host, an optional port follows, and begin at the origin, its host or one of the host's labels: with or without
// anchors, neither https://example.com.evil.org nor https://evil-example.com match example\.com.
func originPattern(expression string) (*regexp.Regexp, error) {
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", expression, err)
	}
	const scheme = `[A-Za-z][A-Za-z0-9+.-]*`
	before := scheme + `://(?:[^/:]*\.)?`
	switch {
	case beginsWith(parsed, '.'):
		before = scheme + `://[^/:]*`
	case beginsWith(parsed, ':'):
		before = scheme
	}
	return regexp.Compile(`\A(?:` + before + `)?(?:` + parsed.String() + `)(?::[0-9]+)?\z`)
}

// beginsWith reports whether every match begins with a character: a dot begins between two labels, a colon after the
// scheme.
func beginsWith(re *syntax.Regexp, char rune) bool {
	switch re.Op {
	case syntax.OpLiteral:
		return re.Rune[0] == char
	case syntax.OpConcat, syntax.OpCapture, syntax.OpPlus:
		return beginsWith(re.Sub[0], char)
	case syntax.OpAlternate:
		return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !beginsWith(sub, char) })
	}
	return false
}
