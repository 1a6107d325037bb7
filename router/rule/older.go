package rule

import (
	"strings"

	"github.com/sluiceproxy/sluice/router/rule/expression"
)

// The languages of the earlier major versions of Traefik.
const (
	// V1 has conditions such as Host:a.example.com,b.example.com;PathPrefix:/api.
	V1 = "v1"
	// V2 has several arguments for one matcher, HostHeader, Headers, HeadersRegexp, Query(`k=v`), and {name:regexp} in
	// HostRegexp, Path, PathPrefix and Query.
	V2 = "v2"
)

// Older returns the v3 spelling of a rule that only an older language understands, [V1] or [V2], and which one that is.
// It is false for a rule that is v3 already and for one that is in no language.
func Older(text string) (v3, language string, ok bool) {
	if _, err := Parse(text); err == nil {
		return "", "", false
	}
	language = V2
	if from, is := v1InV2(text); is {
		text, language = from, V1
	}
	parsed, err := ParseV2(text)
	if err != nil {
		return "", "", false
	}
	v3 = parsed.Canonical()
	if _, err := Parse(v3); err != nil {
		return "", "", false
	}
	return v3, language, true
}

// v1InV2 returns a rule of the v1 language in that of v2. The matchers of v1 that also change the path become the
// matcher alone.
func v1InV2(text string) (string, bool) {
	if len(text) > expression.MaxLength || strings.ContainsAny(text, "`\"") {
		return "", false
	}
	var conditions []string
	for condition := range strings.SplitSeq(text, ";") {
		written, values, found := strings.Cut(condition, ":")
		name := v1Matcher(strings.TrimSpace(written))
		if !found || name == "" {
			return "", false
		}
		var args []string
		for value := range strings.SplitSeq(values, ",") {
			args = append(args, "`"+strings.TrimSpace(value)+"`")
		}
		conditions = append(conditions, name+"("+strings.Join(args, ", ")+")")
	}
	return strings.Join(conditions, " && "), true
}

// v1Matcher returns the matcher of v2 for one of v1, or "" for what only changes requests and what is unknown.
func v1Matcher(written string) string {
	switch name := strings.ToLower(written); name {
	case "pathstrip", "pathstripregex":
		return "Path"
	case "pathprefixstrip", "pathprefixstripregex":
		return "PathPrefix"
	default:
		for _, known := range v2().Names() {
			if strings.ToLower(known) == name && name != "clientip" && name != "hostheader" {
				return known
			}
		}
		return ""
	}
}
