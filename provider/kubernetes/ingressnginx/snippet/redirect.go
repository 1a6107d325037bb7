package snippet

import (
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/nginx/pcre"
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

// rewrite proposes a middleware for rewrite.
func (r *reader) rewrite(one *directive) {
	if len(one.words) < 3 || len(one.words) > 4 || one.braces {
		r.rest(one, "it takes an expression, a replacement and perhaps a flag")
		return
	}
	pattern, to, flag := one.words[1], one.words[2], ""
	if len(one.words) == 4 {
		flag = one.words[3]
	}
	proposal := Proposal{Kind: "regexRewrite"}
	switch flag {
	case "permanent", "redirect":
		if flag == "permanent" {
			proposal.caveat("the status is 302 in place of 301")
		}
		var ok bool
		if to, ok = absolute(pattern, to); !ok {
			r.rest(one, "the target of the redirect may have no slash at its beginning")
			return
		}
	case "last", "":
		if !begins(to, "http://", "https://", "$scheme") {
			proposal.caveat("the route is not chosen anew for the new path")
		}
	case "break":
	default:
		r.rest(one, "the flag is not known")
		return
	}
	compiled, err := pcre.Compile(pattern, 0)
	if err != nil {
		r.rest(one, err.Error())
		return
	}
	parsed, err := variable.ParseReplacement(to, compiled)
	switch {
	case err != nil:
		r.rest(one, err.Error())
		return
	case parsed.Has(variable.Certificate) || parsed.Has(variable.Object):
		r.rest(one, "the replacement has a variable that has no value in the middleware")
		return
	case to == "" || !begins(to, "/", "$", "http://", "https://"):
		r.rest(one, "the replacement is no path and no URL")
		return
	}
	proposal.Middleware = &dynamic.Middleware{RegexRewrite: &dynamic.RegexRewrite{Regex: pattern, Replacement: to}}
	r.propose(proposal, one)
}

// absolute returns the target of a redirect as a URL. Without a scheme it must begin with a slash, also where that is
// within a variable: the host of the URL would go on otherwise.
func absolute(pattern, to string) (string, bool) {
	switch {
	case begins(to, "http://", "https://", "$scheme://"):
		return to, true
	case begins(to, "/", "$uri", "$request_uri"), begins(to, "$1") && strings.HasPrefix(pattern, "^(/") &&
		!strings.Contains(pattern, "|") && !begins(pattern, "^(/)?", "^(/?", "^(/*", "^(/{"):
		return "$scheme://$http_host" + to, true
	}
	return to, false
}
