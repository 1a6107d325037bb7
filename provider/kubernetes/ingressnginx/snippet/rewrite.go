package snippet

import (
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/nginx/pcre"
	"github.com/sluiceproxy/sluice/nginx/variable"
)

// The flags of rewrite.
const (
	flagBreak     = "break"
	flagLast      = "last"
	flagRedirect  = "redirect"
	flagPermanent = "permanent"
)

// Rewrite is a directive rewrite.
type Rewrite struct {
	// Regex and Replacement are those of the middleware regexRewrite.
	Regex, Replacement string
	// Redirects says that the client is redirected: with 302, or with 301 in nginx if it is Permanent.
	Redirects, Permanent bool
	// Last says that nginx chooses the location anew, by the new path, in which the pattern is looked for again.
	Last bool
	// Whole says that the snippet has nothing else.
	Whole bool
	// Caveat is a difference; empty for none.
	Caveat string
}

// RewriteOf returns the rewrite of a snippet that is done whatever the request is; nil where there is none. It has a
// flag, so that it is the last one, and no other directive of the snippet is about the path: a condition, a return or
// another rewrite.
func RewriteOf(text string) *Rewrite {
	found, err := parse(text)
	if err != nil {
		return nil
	}
	var only *directive
	for _, one := range found {
		switch one.name() {
		case "rewrite":
			if only != nil {
				return nil
			}
			only = one
		case "break", "if", "location", "return", "set":
			return nil
		}
	}
	if only == nil || len(only.words) != 4 {
		return nil
	}
	read, reason := only.rewrite()
	if reason != "" {
		return nil
	}
	read.Whole = len(found) == 1
	return read
}

// rewrite proposes a middleware for rewrite.
func (r *reader) rewrite(one *directive) {
	read, reason := one.rewrite()
	if reason != "" {
		r.rest(one, reason)
		return
	}
	proposal := Proposal{
		Kind: "regexRewrite",
		Middleware: &dynamic.Middleware{RegexRewrite: &dynamic.RegexRewrite{
			Regex: read.Regex, Replacement: read.Replacement,
		}},
	}
	if read.Caveat != "" {
		proposal.caveat(read.Caveat)
	}
	r.propose(proposal, one)
}

// rewrite reads the directive rewrite, or returns why it cannot be done.
func (d *directive) rewrite() (_ *Rewrite, reason string) {
	if len(d.words) < 3 || len(d.words) > 4 || d.braces {
		return nil, "it takes an expression, a replacement and perhaps a flag"
	}
	pattern, to, flag := d.words[1], d.words[2], ""
	if len(d.words) == 4 {
		flag = d.words[3]
	}
	out := &Rewrite{Regex: pattern, Redirects: begins(to, "http://", "https://", "$scheme")}
	switch flag {
	case flagPermanent, flagRedirect:
		if out.Permanent = flag == flagPermanent; out.Permanent {
			out.Caveat = "the status is 302 in place of 301"
		}
		var ok bool
		if to, ok = absolute(pattern, to); !ok {
			return nil, "the target of the redirect may have no slash at its beginning"
		}
		out.Redirects = true
	case flagLast, "":
		if out.Last = !out.Redirects; out.Last {
			out.Caveat = "the route is not chosen anew for the new path"
		}
	case flagBreak:
	default:
		return nil, "the flag is not known"
	}
	compiled, err := pcre.Compile(pattern, 0)
	if err != nil {
		return nil, err.Error()
	}
	parsed, err := variable.ParseReplacement(to, compiled)
	switch {
	case err != nil:
		return nil, err.Error()
	case parsed.Has(variable.Certificate) || parsed.Has(variable.Object):
		return nil, "the replacement has a variable that has no value in the middleware"
	case to == "" || !begins(to, "/", "$", "http://", "https://"):
		return nil, "the replacement is no path and no URL"
	}
	out.Replacement = to
	return out, ""
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
