// Package redirectregex implements the middleware redirectRegex, which redirects clients whose URL matches a regular
// expression. If the replacement names a host, the path and query of a request cannot change it. Response bodies
// contain nothing of the request.
package redirectregex

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/answer"
	"github.com/sluiceproxy/sluice/middleware/pattern"
)

// RedirectRegex is one configured redirectRegex.
type RedirectRegex struct {
	name      string
	regex     *pattern.Regexp
	template  template
	permanent bool
	// word is a part of the host, port, path or query of every matching URL, or empty.
	word string
	// sources is a pool.
	sources sync.Pool
}

// New validates the definition: a regular expression, and a replacement without control characters, which may be empty.
func New(name string, config dynamic.RedirectRegex) (*RedirectRegex, error) {
	if config.Regex == "" {
		return nil, errors.New("redirectRegex.regex is empty")
	}
	regex, err := pattern.Compile(config.Regex)
	if err != nil {
		return nil, fmt.Errorf("redirectRegex.regex %q %w", config.Regex, err)
	}
	if len(config.Replacement) > pattern.MaxText {
		return nil, fmt.Errorf("redirectRegex.replacement has %d bytes, more than the %d that are allowed",
			len(config.Replacement), pattern.MaxText)
	}
	if strings.ContainsFunc(config.Replacement, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return nil, fmt.Errorf("redirectRegex.replacement %q has a control character", config.Replacement)
	}
	return &RedirectRegex{
		name: name, regex: regex, template: parse(config.Replacement, regex.SubexpNames()), permanent: config.Permanent,
		word: word(regex.Need()),
	}, nil
}

// word returns the longest part of a text that is within one component of a URL, unless it may be the scheme.
func word(text string) string {
	longest := ""
	for part := range strings.FieldsFuncSeq(text, func(c rune) bool { return c == ':' || c == '/' || c == '?' }) {
		if len(part) > len(longest) {
			longest = part
		}
	}
	if strings.Contains("https", longest) {
		return ""
	}
	return longest
}

// NoRetain implements httpio.NoRetainer.
func (*RedirectRegex) NoRetain() {}

// RewritesTarget implements middleware.TargetRewriter.
func (*RedirectRegex) RewritesTarget() {}

// Wrap returns a handler that matches the URL of a request, "scheme://host[:port]/path?query". If it does not match, or
// the replacement of all matches changes nothing, next is called. Otherwise the client is redirected: with 301
// (permanent) or 302 for GET, and 308 or 307 for other methods, HEAD too, so that the method is kept. Invalid targets,
// and targets chosen by the client's path or query, are answered with 400.
//
// The scheme is that of the connection, regardless of X-Forwarded-Proto; host, path and query are in canonical form,
// the host in lower case, the port as sent.
func (rr *RedirectRegex) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rr.differs(r) {
			next.ServeHTTP(w, r)
			return
		}
		from, _ := rr.sources.Get().(*source)
		if from == nil {
			from = new(source)
		}
		from.read(r)
		if !rr.regex.Match(from.url) {
			rr.sources.Put(from)
			next.ServeHTTP(w, r)
			return
		}
		location, changed, err := rr.location(from)
		rr.sources.Put(from)
		switch {
		case err != nil:
			answer.BadRequest(w, r, rr.name, err)
		case !changed:
			next.ServeHTTP(w, r)
		default:
			w.Header().Set("Location", location)
			status := rr.status(r.Method)
			http.Error(w, http.StatusText(status), status)
		}
	})
}

// differs reports whether the components of the URL suffice to exclude a match.
func (rr *RedirectRegex) differs(r *http.Request) bool {
	if rr.word == "" || strings.Contains(r.Host, rr.word) || strings.Contains(r.URL.RawQuery, rr.word) ||
		!isPlain(r.Host) {
		return false
	}
	path, _ := canonical.EscapedPath(r)
	return !strings.Contains(path, rr.word)
}

func (rr *RedirectRegex) location(from *source) (location string, changed bool, err error) {
	matches := rr.regex.FindAllSubmatchIndex(from.url, pattern.MaxMatches+1)
	if len(matches) > pattern.MaxMatches {
		return "", true, errMany
	}
	to := rr.template.replace(from, matches)
	if string(to.url) == string(from.url) {
		return "", false, nil
	}
	if err := to.check(rr.template.relative); err != nil {
		return "", true, err
	}
	return to.location(), true, nil
}

func (rr *RedirectRegex) status(method string) int {
	switch {
	case method == http.MethodGet && rr.permanent:
		return http.StatusMovedPermanently
	case method == http.MethodGet:
		return http.StatusFound
	case rr.permanent:
		return http.StatusPermanentRedirect
	}
	return http.StatusTemporaryRedirect
}

// source is the URL that an expression is matched with.
type source struct {
	url []byte
	// path is the start of the path, from where on any link can choose the bytes.
	path int
}

func (s *source) read(r *http.Request) {
	s.url = append(s.url[:0], "http"...)
	if r.TLS != nil {
		s.url = append(s.url, 's')
	}
	s.url = append(s.url, "://"...)
	s.readHost(r.Host)
	s.path = len(s.url)
	if path, ok := canonical.EscapedPath(r); ok {
		s.url = append(s.url, path...)
	}
	if r.URL.RawQuery != "" || r.URL.ForceQuery {
		s.url = append(append(s.url, '?'), r.URL.RawQuery...)
	}
}

func (s *source) readHost(given string) {
	if isPlain(given) {
		s.url = append(s.url, given...)
		return
	}
	host, ok := canonical.Host(given)
	if !ok {
		s.url = append(s.url, strings.ToLower(given)...)
		return
	}
	if strings.Contains(host, ":") {
		s.url = append(append(append(s.url, '['), host...), ']')
	} else {
		s.url = append(s.url, host...)
	}
	if port := canonical.Port(given); port != "" {
		s.url = append(append(s.url, ':'), port...)
	}
}

// isPlain reports whether a host is certainly canonical.
func isPlain(host string) bool {
	for i := range len(host) {
		if c := host[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '.' && c != '-' {
			return false
		}
	}
	return host != "" && host[len(host)-1] != '.'
}
