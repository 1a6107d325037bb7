package environment

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/environment"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/middleware/cookies"
)

// The places that a tag can come from, in their order of precedence: what is written in the URL precedes what a browser
// sends with every request.
const (
	fromHeader = iota
	fromQuery
	fromPath
	fromHost
	fromCookie
	places
)

// candidates are the tags of a request by their places, signed ones with their signature; empty for none.
type candidates [places]string

// sources are the places of tags beside the header. It is an immutable value.
type sources struct {
	query, cookie string
	// path is the escaped prefix before the tag, which ends with a slash; empty for none.
	path string
	host hostPattern
}

// take returns the candidates of a request, and removes the query parameter and the prefix of the path. The error is
// that of a path that is invalid without the prefix.
func (s *sources) take(r *http.Request, header string) (candidates, error) {
	var found candidates
	if values := r.Header[header]; len(values) > 0 {
		found[fromHeader] = values[0]
	}
	if s.query != "" && r.URL.RawQuery != "" {
		if value, n := s.inQuery(r); n > 0 {
			found[fromQuery] = candidate(value)
			s.cleanQuery(r)
		}
	}
	if s.path != "" {
		tag, err := s.cutPath(r)
		if err != nil {
			return found, err
		}
		found[fromPath] = tag
	}
	if s.host.set {
		found[fromHost] = s.host.Tag(r.Host)
	}
	if s.cookie != "" {
		value, _ := s.inCookie(r)
		found[fromCookie] = candidate(value)
	}
	return found, nil
}

// candidate returns a value that is a tag or looks like a signed one, and otherwise nothing.
func candidate(value string) string {
	if environment.Signed(value) || environment.ValidTag(value) {
		return value
	}
	return ""
}

// inQuery returns the first value of the parameter, and how often it is there.
func (s *sources) inQuery(r *http.Request) (value string, n int) {
	for pair := range strings.SplitSeq(r.URL.RawQuery, "&") {
		name, encoded, _ := strings.Cut(pair, "=")
		if !s.isQuery(name) {
			continue
		}
		if n++; n > 1 {
			continue
		}
		if decoded, err := url.QueryUnescape(encoded); err == nil {
			value = decoded
		}
	}
	return value, n
}

// isQuery reports whether a name in a query, in any encoding, is that of the parameter.
func (s *sources) isQuery(name string) bool {
	if name == s.query {
		return true
	}
	if !strings.ContainsAny(name, "%+") {
		return false
	}
	decoded, err := url.QueryUnescape(name)
	return err == nil && decoded == s.query
}

// cleanQuery removes the parameter, every time that it is there, and leaves all other pairs as they are, byte for byte.
func (s *sources) cleanQuery(r *http.Request) {
	var pairs []string
	for pair := range strings.SplitSeq(r.URL.RawQuery, "&") {
		if name, _, _ := strings.Cut(pair, "="); !s.isQuery(name) {
			pairs = append(pairs, pair)
		}
	}
	query := strings.Join(pairs, "&")
	r.URL.RawQuery = query
	if target, _, has := strings.Cut(r.RequestURI, "?"); has {
		if query != "" {
			target += "?" + query
		}
		r.RequestURI = target
	}
}

// cutPath removes the prefix with the tag from the path, and returns the tag. A path without one stays as it is.
func (s *sources) cutPath(r *http.Request) (tag string, err error) {
	path, _ := canonical.EscapedPath(r)
	rest, found := strings.CutPrefix(path, s.path)
	if !found {
		return "", nil
	}
	end := strings.IndexByte(rest, '/')
	if end < 0 {
		end = len(rest)
	}
	if tag = rest[:end]; !environment.ValidTag(tag) {
		return "", nil
	}
	if err := canonical.SetPath(r, rest[end:]); err != nil {
		return "", err
	}
	forwarded.AddHeader(r.Header, forwarded.XForwardedPrefix, s.path+tag)
	return tag, nil
}

// inCookie returns the first value of the cookie, and how often it is there.
func (s *sources) inCookie(r *http.Request) (value string, n int) {
	value, _, n = cookies.Find(r.Header, s.cookie)
	return value, n
}

// removeCookie removes the cookie, every time that it is there, and leaves the others in their order.
func (s *sources) removeCookie(r *http.Request) {
	if s.cookie == "" {
		return
	}
	if _, n := s.inCookie(r); n > 0 {
		cookies.Remove(r.Header, s.cookie)
	}
}
