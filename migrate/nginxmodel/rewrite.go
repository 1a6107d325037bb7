package nginxmodel

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/sluiceproxy/sluice/migrate/answer"
	"github.com/sluiceproxy/sluice/nginx/pcre"
	"github.com/sluiceproxy/sluice/nginx/uri"
	"github.com/sluiceproxy/sluice/nginx/variable"
)

// rewrite replaces the whole path of a request in which a pattern is found.
type rewrite struct {
	pattern *pcre.Regexp
	// path and args are the target around its "?". Without one, queried is false.
	path, args variable.Template
	queried    bool
	// keeps says that the query of the request is kept.
	keeps bool
	// redirects says that the target is a URL, to which the client is sent.
	redirects bool
	prefix    variable.Template
}

// prepareRewrite compiles the target of a location, if it has one.
func (p *place) prepareRewrite() error {
	if !p.rewrites() || p.rewrite != nil {
		return nil
	}
	pattern, err := pcre.Compile(p.path, pcre.Caseless)
	if err != nil {
		return err
	}
	made, err := newRewrite(pattern, p.options.Rewrite.Target)
	if err != nil {
		return fmt.Errorf("rewrite-target: %w", err)
	}
	if made.prefix, err = variable.ParseReplacement(p.options.Backend.ForwardedPrefix, pattern); err != nil {
		return fmt.Errorf("x-forwarded-prefix: %w", err)
	}
	p.rewrite = made
	return nil
}

// prepareSnippet compiles the rewrite of configuration-snippet that Sluice does, if there is one. Other directives, and
// one that has nginx choose another location of the host, are not in the model.
func (p *place) prepareSnippet(alone bool) {
	given := p.options.Snippets.Rewrite
	if given == nil || given.Last && !alone {
		return
	}
	pattern, err := pcre.Compile(given.Regex, 0)
	if err != nil {
		return
	}
	p.snippet, _ = newRewrite(pattern, given.Replacement)
}

// newRewrite compiles the target of a pattern.
func newRewrite(pattern *pcre.Regexp, target string) (_ *rewrite, err error) {
	made := &rewrite{pattern: pattern}
	target, dropped := strings.CutSuffix(target, "?")
	made.keeps = !dropped
	for _, start := range []string{"http://", "https://", "$scheme"} {
		made.redirects = made.redirects || strings.HasPrefix(target, start)
	}
	path, args := target, ""
	if !made.redirects {
		path, args, made.queried = strings.Cut(target, "?")
	}
	if made.path, err = variable.ParseReplacement(path, pattern); err != nil {
		return nil, err
	}
	if made.args, err = variable.ParseReplacement(args, pattern); err != nil {
		return nil, err
	}
	return made, nil
}

// url returns the URL that the client is sent to. It reports false when the pattern is not found.
func (r *rewrite) url(q *request) (target string, found bool) {
	if q.values.Captures = r.pattern.Find(q.path); q.values.Captures == nil {
		return "", false
	}
	target = string(r.path.Append(nil, &q.values))
	if r.keeps && q.query != "" {
		target += "?" + q.query
	}
	return target, true
}

// apply rewrites path and query of the request. It reports false when the pattern is not found. Where the requested
// path has encodings, captures in the query are encoded.
func (r *rewrite) apply(q *request) (found bool) {
	if q.values.Captures = r.pattern.Find(q.path); q.values.Captures == nil {
		return false
	}
	path, query := expand(r.path, q, nil), q.query
	switch {
	case r.queried:
		var escape func([]byte, string) []byte
		if strings.ContainsAny(q.target, "%+") {
			escape = uri.AppendEscapedArgs
		}
		query = expand(r.args, q, escape)
		if r.keeps && q.query != "" {
			query += "&" + q.query
		}
	case !r.keeps:
		query = ""
	}
	q.path, q.query, q.rewritten = path, query, true
	q.values.URI, q.values.Query = path, query
	return true
}

// mostRounds is how often nginx rewrites the path of a request before it takes that for a cycle.
const mostRounds = 10

// runSnippet applies the rewrite of configuration-snippet. With the flag last, the new path has the same location, in
// which the rewrite is tried again; with break, no other rewrite and no return is reached.
func (q *request) runSnippet() (out answer.Answer, done bool) {
	snippet := q.place.snippet
	if snippet == nil {
		return out, false
	}
	given := q.place.options.Snippets.Rewrite
	if snippet.redirects {
		target, found := snippet.url(q)
		if !found {
			return out, false
		}
		q.out.Header.Set("Location", target)
		if given.Permanent {
			return q.finish(http.StatusMovedPermanently, answer.Return), true
		}
		return q.finish(http.StatusFound, answer.Return), true
	}
	for range mostRounds {
		if !snippet.apply(q) {
			return out, false
		}
		if !given.Last {
			q.settled = true
			return out, false
		}
	}
	if snippet.pattern.Match(q.path) {
		return q.finish(http.StatusInternalServerError, answer.Cycle), true
	}
	return out, false
}

// expand returns a text with the values of a request, of which captures may be escaped.
func expand(text variable.Template, q *request, escape func([]byte, string) []byte) string {
	var out []byte
	text.Parts(func(literal string) { out = append(out, literal...) }, func(of variable.Variable) {
		value := q.values.Value(of)
		if of.Kind == variable.Capture && escape != nil {
			out = escape(out, value)
			return
		}
		out = append(out, value...)
	})
	return string(out)
}
