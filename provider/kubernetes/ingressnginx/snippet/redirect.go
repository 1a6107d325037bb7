package snippet

import (
	"strings"

	"github.com/sluiceproxy/sluice/nginx/variable"
)

// replacementOf returns a URL with variables of nginx as a replacement of redirectRegex, whose expression has the
// scheme, the host, the port, the path and the query as its groups; or why it cannot be one.
func replacementOf(to string) (replacement, reason string) {
	if strings.HasPrefix(to, "/") {
		to = "$scheme://$http_host" + to
	}
	if !begins(to, "http://", "https://", "$scheme://") {
		return "", "the target is no URL"
	}
	parsed, err := variable.Parse(to)
	if err != nil {
		return "", err.Error()
	}
	var out strings.Builder
	separated := false // by the question mark that $is_args stands for
	parsed.Parts(func(literal string) {
		out.WriteString(strings.ReplaceAll(literal, "$", "$$"))
		separated = false
	}, func(of variable.Variable) {
		switch of.Kind {
		case variable.Scheme:
			out.WriteString("${1}")
		case variable.Host:
			out.WriteString("${2}")
		case variable.HTTPHost, variable.BestHTTPHost:
			out.WriteString("${2}${3}")
		case variable.RequestURI:
			out.WriteString("${4}${5}")
		case variable.URI:
			out.WriteString("${4}")
		case variable.IsArgs:
			separated = true
			return
		case variable.Args:
			if !separated {
				reason = "the query alone cannot be a part of the target"
			}
			out.WriteString("${5}")
		default:
			reason = "the target has a variable that redirectRegex does not have"
		}
		separated = false
	})
	return out.String(), reason
}
