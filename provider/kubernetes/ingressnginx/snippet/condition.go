package snippet

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/nginx/pcre"
	"github.com/sluiceproxy/sluice/nginx/variable"
)

// condition proposes a middleware for requests for which a condition holds that has one return in its block.
func (r *reader) condition(one *directive) {
	if len(one.block) != 1 || one.block[0].name() != "return" {
		r.rest(one, "a condition is recognised only with return alone in its block")
		return
	}
	operand, operator, value, ok := comparison(one.words[1:])
	if !ok {
		r.rest(one, "the condition is not recognised")
		return
	}
	proposal, reason := answer(one.block[0])
	if reason != "" {
		r.rest(one, reason)
		return
	}
	proposal.Protects = true
	if operand == "$scheme" && operator == "=" && value == "http" && secures(one.block[0]) {
		status, _ := strconv.Atoi(one.block[0].words[1])
		if len(one.block[0].words) == 2 {
			status = 302
		}
		r.propose(Proposal{
			Kind: "redirectScheme", Protects: true, Caveats: []string{"redirects of the annotation ssl-redirect do the same"},
			Middleware: &dynamic.Middleware{RedirectScheme: &dynamic.RedirectScheme{Scheme: "https", StatusCode: status}},
		}, one)
		return
	}
	match, reason := matchOf(operand, operator, value)
	if reason != "" {
		r.rest(one, reason)
		return
	}
	proposal.Match = match
	proposal.caveat("it needs a route with this rule beside the one without")
	r.propose(proposal, one)
}

// secures reports whether return redirects to the same URL with https.
func secures(one *directive) bool {
	to := one.words[len(one.words)-1]
	return (to == "https://$host$request_uri" || to == "https://$http_host$request_uri" ||
		to == "https://$server_name$request_uri") && (len(one.words) == 2 || one.words[1] != "303")
}

// comparison returns the parts of a condition; the operator is empty for a variable alone.
func comparison(words []string) (operand, operator, value string, ok bool) {
	if len(words) == 0 || !strings.HasPrefix(words[0], "(") || !strings.HasSuffix(words[len(words)-1], ")") {
		return "", "", "", false
	}
	words = append([]string(nil), words...)
	words[0] = words[0][1:]
	last := len(words) - 1
	words[last] = strings.TrimSuffix(words[last], ")")
	if words[0] == "" {
		words = words[1:]
	}
	if len(words) > 0 && words[len(words)-1] == "" && len(words) != 3 {
		words = words[:len(words)-1]
	}
	switch {
	case len(words) == 0 || !strings.HasPrefix(words[0], "$"):
		return "", "", "", false
	case len(words) == 1:
		return words[0], "", "", true
	case len(words) != 3:
		return "", "", "", false
	}
	switch words[1] {
	case "=", "!=", "~", "~*", "!~", "!~*":
		return words[0], words[1], words[2], true
	}
	return "", "", "", false
}

// matchOf returns the rule for a condition, or why there is none.
func matchOf(operand, operator, value string) (match, reason string) {
	const unknown = "the variable of the condition is not recognised"
	parsed, err := variable.Parse(operand)
	if err != nil {
		return "", unknown
	}
	var of variable.Variable
	count := 0
	parsed.Parts(func(string) { count++ }, func(one variable.Variable) { of, count = one, count+1 })
	if count != 1 || of.Kind == 0 {
		return "", unknown
	}
	if strings.ContainsAny(value, "`\r\n") {
		return "", "the value has a character that a rule cannot have"
	}
	operator, negative := strings.CutPrefix(operator, "!")
	switch of.Kind {
	case variable.Header:
		match, reason = headerMatch(of.Name, operator, value)
	case variable.RequestMethod:
		match, reason = methodMatch(operator, value)
	case variable.Host:
		match, reason = hostMatch(operator, value)
	case variable.URI:
		match, reason = pathMatch(operator, value)
	case variable.RemoteAddr:
		match, reason = addressMatch(operator, value)
	default:
		return "", unknown
	}
	if negative && reason == "" {
		match = "!" + match
	}
	return match, reason
}

func quoted(text string) string { return "`" + text + "`" }

// headerMatch returns the rule for a header. A header that is missing is an empty value for nginx, which a pattern
// may match.
func headerMatch(name, operator, value string) (match, reason string) {
	if !httpguts.ValidHeaderFieldName(name) || name == "Host" {
		return "", "the header of the condition is not recognised"
	}
	switch {
	case operator == "":
		return "HeaderRegexp(" + quoted(name) + ", `^(?:[^0]|0.)`)", ""
	case operator == "=" && value == "":
		return "!HeaderRegexp(" + quoted(name) + ", `.`)", ""
	case operator == "=":
		return "Header(" + quoted(name) + ", " + quoted(value) + ")", ""
	}
	pattern, reason := patternOf(operator, value)
	if reason != "" {
		return "", reason
	}
	if regexp.MustCompile(pattern).MatchString("") {
		return "", "the expression matches also where the header is missing"
	}
	return "HeaderRegexp(" + quoted(name) + ", " + quoted(pattern) + ")", ""
}

// patternOf returns a pattern in Go's syntax.
func patternOf(operator, value string) (pattern, reason string) {
	if err := pcre.Check(value, 0); err != nil {
		return "", err.Error()
	}
	if operator == "~*" {
		value = "(?i)" + value
	}
	if _, err := regexp.Compile(value); err != nil || len(value) > 4<<10 {
		return "", "the expression is not one of RE2"
	}
	return value, ""
}

// methodMatch returns the rule for a method, or for some that a pattern lists as ^(GET|HEAD)$.
func methodMatch(operator, value string) (match, reason string) {
	methods := []string{value}
	if operator != "=" {
		inner, left := strings.CutPrefix(value, "^(")
		inner, right := strings.CutSuffix(inner, ")$")
		inner = strings.TrimPrefix(inner, "?:")
		if operator == "" || !left || !right {
			return "", "the pattern of the method is not of the form ^(GET|HEAD)$"
		}
		methods = strings.Split(inner, "|")
	}
	for i, method := range methods {
		if operator == "~*" {
			method = strings.ToUpper(method)
		}
		for j := range len(method) {
			if method[j] < 'A' || method[j] > 'Z' {
				return "", "the method is not recognised"
			}
		}
		if method == "" {
			return "", "the method is not recognised"
		}
		methods[i] = "Method(" + quoted(method) + ")"
	}
	if len(methods) == 1 {
		return methods[0], ""
	}
	return "(" + strings.Join(methods, " || ") + ")", ""
}

func hostMatch(operator, value string) (match, reason string) {
	if operator != "=" || value == "" || strings.ContainsAny(value, "*:[]$/ ") {
		return "", "conditions of the host are recognised with a name alone"
	}
	return "Host(" + quoted(value) + ")", ""
}

func pathMatch(operator, value string) (match, reason string) {
	switch operator {
	case "=":
		if !strings.HasPrefix(value, "/") {
			return "", "the path of the condition does not begin with a slash"
		}
		return "NormalizedPath(" + quoted(value) + ")", ""
	case "~", "~*":
		if operator == "~*" {
			value = "(?i)" + value
		}
		if err := pcre.Check(value, 0); err != nil {
			return "", err.Error()
		}
		return "NormalizedPathRegexp(" + quoted(value) + ")", ""
	}
	return "", "the condition is not recognised"
}

func addressMatch(operator, value string) (match, reason string) {
	if address, err := netip.ParseAddr(value); operator != "=" || err != nil || address.Zone() != "" {
		return "", "conditions of the address are recognised with one address alone"
	}
	return "ClientIP(" + quoted(value) + ")", ""
}
