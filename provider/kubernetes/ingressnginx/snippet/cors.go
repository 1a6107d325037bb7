package snippet

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
)

// cors proposes a middleware for the headers of CORS (the Fetch standard) if the snippet also answers requests with the
// method OPTIONS, and returns the other directives.
func (r *reader) cors(found []*directive) (others []*directive) {
	values := map[string]string{}
	var used []*directive
	preflight := false
	for _, one := range found {
		switch {
		case answersPreflight(one, values):
			preflight = true
			used = append(used, one)
		case corsHeader(one, values):
			used = append(used, one)
		default:
			others = append(others, one)
		}
	}
	origin := values["origin"]
	if !preflight || origin == "" {
		return found
	}
	config := &dynamic.NginxCORS{
		AllowOrigins: []string{origin}, AllowMethods: values["methods"], AllowHeaders: values["headers"],
		ExposeHeaders: values["expose-headers"],
	}
	allow := values["credentials"] == "true"
	config.AllowCredentials = &allow
	proposal := Proposal{Kind: "nginxCORS", Middleware: &dynamic.Middleware{NginxCORS: config}}
	if age, err := strconv.Atoi(values["max-age"]); err == nil && age > 0 {
		config.MaxAge = age
	}
	if origin == "$http_origin" {
		config.AllowOrigins = []string{"*"}
		proposal.caveat("the snippet allows every origin; list the ones that are meant in allowOrigins")
		if allow {
			proposal.caveat("browsers send no credentials where the origin * is allowed")
		}
	}
	for _, name := range []string{"methods", "headers", "max-age"} {
		if values[name] == "" {
			proposal.caveat("what the snippet does not set has the default of ingress-nginx")
		}
	}
	proposal.caveat("requests with OPTIONS are answered with 204, also without Access-Control-Request-Method")
	r.propose(proposal, used...)
	return others
}

// corsHeader notes the value of a header Access-Control-NAME, and reports whether the directive sets nothing else and
// nothing that is noted with another value.
func corsHeader(one *directive, values map[string]string) bool {
	var name, value string
	switch {
	case one.name() == "add_header" && (len(one.words) == 3 || len(one.words) == 4 && one.words[3] == "always"):
		name, value = one.words[1], one.words[2]
	case one.name() == "more_set_headers" && len(one.words) == 2:
		name, value, _ = strings.Cut(one.words[1], ":")
		value = strings.TrimSpace(value)
	default:
		return false
	}
	key, is := strings.CutPrefix(strings.ToLower(strings.TrimSpace(name)), "access-control-")
	key = strings.TrimPrefix(key, "allow-")
	known := []string{"origin", "methods", "headers", "credentials", "max-age", "expose-headers"}
	if !is || !slices.Contains(known, key) || fault(name, value) != "" {
		return false
	}
	if strings.Contains(value, "$") && (key != "origin" || value != "$http_origin") {
		return false
	}
	if key == "origin" && value != "*" && value != "null" && value != "$http_origin" &&
		(!begins(value, "http://", "https://") || strings.ContainsAny(value, "*, ")) {
		return false
	}
	if other, given := values[key]; given && other != value {
		return false
	}
	values[key] = value
	return true
}

// answersPreflight reports whether a directive answers requests with OPTIONS by nothing but headers of CORS, and notes
// those.
func answersPreflight(one *directive, values map[string]string) bool {
	if one.name() != "if" || len(one.block) == 0 {
		return false
	}
	operand, operator, value, ok := comparison(one.words[1:])
	if !ok || strings.ToLower(operand) != "$request_method" || operator != "=" || value != "OPTIONS" {
		return false
	}
	seen := map[string]string{}
	for _, inner := range one.block[:len(one.block)-1] {
		content := inner.name() == "add_header" && len(inner.words) >= 3 && (strings.EqualFold(inner.words[1], "Content-Type") ||
			strings.EqualFold(inner.words[1], "Content-Length"))
		if !content && !corsHeader(inner, seen) {
			return false
		}
	}
	last := one.block[len(one.block)-1]
	if last.name() != "return" || len(last.words) != 2 || last.words[1] != "204" && last.words[1] != "200" {
		return false
	}
	for key, value := range seen {
		if other, given := values[key]; given && other != value {
			return false
		}
	}
	for key, value := range seen {
		values[key] = value
	}
	return true
}
