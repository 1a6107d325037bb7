// Package regexrewrite implements the middleware regexRewrite, which replaces path and query by a pattern as nginx's
// directive rewrite does.
package regexrewrite

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/answer"
	"github.com/sluiceproxy/sluice/nginx/pcre"
	"github.com/sluiceproxy/sluice/nginx/uri"
	"github.com/sluiceproxy/sluice/nginx/variable"
	"github.com/sluiceproxy/sluice/telemetry"
)

const (
	// maxTarget bounds the bytes of a result.
	maxTarget = 64 << 10
	// mostRounds is how often a path is rewritten with the option last, as in nginx.
	mostRounds = 10
)

// RegexRewrite is one configured regexRewrite.
type RegexRewrite struct {
	name  string
	regex *pcre.Regexp
	// path and query are the parts of the replacement; hasQuery is set when it has a question mark.
	path, query variable.Template
	hasQuery    bool
	// redirects is set when the replacement is a URL, which is path and query.
	redirects bool
	// keeps is set when the query of the request is added.
	keeps bool
	// last is set when results are rewritten again.
	last bool
}

// The reasons for which requests are refused.
var (
	errNoForm   = errors.New("the path has no normalised form")
	errEmpty    = errors.New("the rewritten path is empty")
	errRelative = errors.New("the rewritten path does not begin with a slash")
	errCycle    = fmt.Errorf("the pattern matches the path also after %d rewrites", mostRounds)
	errLong     = fmt.Errorf("the rewritten target has more than %d bytes", maxTarget)
)

// New validates the definition: a pattern, and a replacement that is a URL, or a path that begins with a slash or a
// variable.
func New(name string, config dynamic.RegexRewrite) (*RegexRewrite, error) {
	if config.Regex == "" {
		return nil, errors.New("regexRewrite.regex is empty")
	}
	regex, err := pcre.Compile(config.Regex, 0)
	if err != nil {
		return nil, fmt.Errorf("regexRewrite.regex %q: %w", config.Regex, err)
	}
	text, drops := strings.CutSuffix(config.Replacement, "?")
	rw := &RegexRewrite{name: name, regex: regex, keeps: !drops, last: config.Last}
	for _, scheme := range []string{"http://", "https://", "$scheme"} {
		rw.redirects = rw.redirects || strings.HasPrefix(text, scheme)
	}
	if !rw.redirects && !strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "$") {
		return nil, fmt.Errorf("regexRewrite.replacement %q begins with neither a slash nor a variable", config.Replacement)
	}
	template, err := variable.ParseReplacement(text, regex)
	if err != nil {
		return nil, fmt.Errorf("regexRewrite.replacement: %w", err)
	}
	if err := variable.CheckLive(template, true); err != nil {
		return nil, fmt.Errorf("regexRewrite.replacement: %w", err)
	}
	rw.path, rw.query, rw.hasQuery = template.Cut("?")
	return rw, nil
}

// NoRetain implements httpio.NoRetainer.
func (*RegexRewrite) NoRetain() {}

// RewritesTarget implements middleware.TargetRewriter.
func (*RegexRewrite) RewritesTarget() {}

// Wrap returns a handler that replaces path and query and calls next, or redirects. A path that does not match passes
// unchanged, and so does "OPTIONS *". A result that [canonical.SetPath] refuses is answered with 400, and with 500 an
// empty one and one that matches too often.
func (rw *RegexRewrite) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		escaped, ok := canonical.EscapedPath(r)
		if !ok {
			next.ServeHTTP(w, r)
			return
		}
		path, ok := uri.Normalize(escaped)
		if !ok {
			answer.BadRequest(w, r, rw.name, errNoForm)
			return
		}
		captures := rw.regex.Find(path)
		if captures == nil {
			next.ServeHTTP(w, r)
			return
		}
		values := &variable.Live{
			Request: r, Client: telemetry.RecordFrom(r.Context()).Client, Captures: captures,
		}
		to := writer{values: values, quoted: strings.ContainsAny(escaped, "%+")}
		if rw.redirects {
			rw.redirect(w, r, &to)
			return
		}
		switch err := rw.rewriteAll(r, values, &to); {
		case errors.Is(err, errEmpty), errors.Is(err, errCycle):
			answer.Refuse(w, r, http.StatusInternalServerError, rw.name, err.Error())
		case err != nil:
			answer.BadRequest(w, r, rw.name, err)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// rewriteAll rewrites the request, whose path matches: once, or as long as the pattern is found with the option last.
// The path of the next round is that of nginx, whose adjacent slashes are not merged.
func (rw *RegexRewrite) rewriteAll(r *http.Request, values *variable.Live, to *writer) error {
	if rw.last {
		values.Target = values.Value(variable.Variable{Kind: variable.RequestURI})
	}
	for round := 1; ; round++ {
		path, err := rw.rewrite(r, to)
		if err != nil || !rw.last {
			return err
		}
		if values.Captures = rw.regex.Find(path); values.Captures == nil {
			return nil
		}
		if round == mostRounds {
			return errCycle
		}
	}
}

// rewrite changes the request, and returns its path as the replacement has it. After an error the request is as it was.
func (rw *RegexRewrite) rewrite(r *http.Request, to *writer) (path string, err error) {
	path = to.text(rw.path, false)
	query := to.query(rw, r.URL.RawQuery)
	switch {
	case path == "":
		return "", errEmpty
	case path[0] != '/':
		return "", errRelative
	case len(path)+len(query) > maxTarget:
		return "", errLong
	}
	before, forced := r.URL.RawQuery, r.URL.ForceQuery
	r.URL.RawQuery, r.URL.ForceQuery = query, false
	if err := canonical.SetPath(r, uri.Escape(merged(path))); err != nil {
		r.URL.RawQuery, r.URL.ForceQuery = before, forced
		return "", err
	}
	return path, nil
}

// merged merges adjacent slashes, as those of requests are.
func merged(path string) string {
	for strings.Contains(path, "//") {
		path = strings.ReplaceAll(path, "//", "/")
	}
	return path
}

// redirect answers with the replacement as URL.
func (rw *RegexRewrite) redirect(w http.ResponseWriter, r *http.Request, to *writer) {
	target := to.text(rw.path, true)
	if rw.hasQuery {
		target += "?" + to.text(rw.query, true)
	}
	target = unescaped(target)
	if query := r.URL.RawQuery; rw.keeps && query != "" {
		if rw.hasQuery {
			target += "&" + query
		} else {
			target += "?" + query
		}
	}
	if len(target) > maxTarget {
		answer.BadRequest(w, r, rw.name, errLong)
		return
	}
	w.Header().Set("Location", string(uri.AppendValid(nil, target, "")))
	http.Error(w, http.StatusText(http.StatusFound), http.StatusFound)
}
