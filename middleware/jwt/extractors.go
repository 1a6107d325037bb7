package jwt

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/middleware/cookies"
)

// authorization is the header whose tokens have a scheme before them.
const authorization = "Authorization"

// tokenExtractors take the token from where a request may have it. It is an immutable value.
type tokenExtractors struct {
	header string // In net/http's canonical spelling.
	cookie string
	query  string
	remove bool
}

// newTokenExtractors checks the options that say where the token is.
func newTokenExtractors(config dynamic.JWT) (tokenExtractors, error) {
	header := config.TokenHeader
	if header == "" && config.TokenCookie == "" && config.TokenQueryKey == "" {
		header = authorization
	}
	made := tokenExtractors{
		header: http.CanonicalHeaderKey(header), cookie: config.TokenCookie,
		query: config.TokenQueryKey, remove: config.RemoveToken,
	}
	if made.header != "" && made.header != authorization {
		if err := checkHeader(made.header); err != nil {
			return tokenExtractors{}, fmt.Errorf("jwt.tokenHeader %w", err)
		}
	}
	if made.cookie != "" && !httpguts.ValidHeaderFieldName(made.cookie) {
		return tokenExtractors{}, errors.New("jwt.tokenCookie is not the name of a cookie")
	}
	if hasControl(made.query) {
		return tokenExtractors{}, errors.New("jwt.tokenQueryKey has a control character")
	}
	return made, nil
}

// checkHeader refuses what is no name of a header, and the names of those that have a meaning of their own.
func checkHeader(name string) error {
	if !httpguts.ValidHeaderFieldName(name) {
		return errors.New("is not the name of a header")
	}
	switch http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-")) {
	case authorization, "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Cookie", "Expect", "Host",
		"Http2-Settings", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer",
		"Transfer-Encoding", "Upgrade":
		return fmt.Errorf("%s has a meaning of its own", name)
	}
	if forwarded.IsManaged(name) {
		return fmt.Errorf("%s says where a request came from, and nothing else", name)
	}
	return nil
}

// find returns the token of a request: that of the header, or else of the cookie, or else of the query. Two in one of
// them are refused, since another might take the other one.
func (p *tokenExtractors) find(r *http.Request) (string, *refusal) {
	token, n := p.inHeader(r)
	if n == 0 {
		token, n = p.inCookie(r)
	}
	if n == 0 {
		token, n = p.inQuery(r)
	}
	switch n {
	case 0:
		return "", refuse(absent, "the request has no token")
	case 1:
		return token, nil
	}
	return "", refuse(several, "the request has several tokens")
}

// inHeader counts the lines of the header. Another scheme of Authorization has no token.
func (p *tokenExtractors) inHeader(r *http.Request) (string, int) {
	if p.header == "" {
		return "", 0
	}
	lines := r.Header[p.header]
	if len(lines) != 1 {
		return "", len(lines)
	}
	if p.header != authorization {
		return lines[0], 1
	}
	if token, bearer := cutBearer(lines[0]); bearer {
		return token, 1
	}
	return "", 0
}

// cutBearer returns what follows the scheme Bearer, in any case. The scheme is a token (RFC 9110 section 11.1): where
// something else than a space ends it, a lenient service may still read a token behind it, so what follows is one
// that is not taken.
func cutBearer(line string) (token string, ok bool) {
	end := strings.IndexFunc(line, func(c rune) bool { return !httpguts.IsTokenRune(c) })
	if end < 0 {
		end = len(line)
	}
	if !strings.EqualFold(line[:end], "Bearer") {
		return "", false
	}
	return strings.Trim(line[end:], " "), true
}

func (p *tokenExtractors) inCookie(r *http.Request) (string, int) {
	if p.cookie == "" {
		return "", 0
	}
	_, token, n := cookies.Find(r.Header, p.cookie)
	return token, n
}

func (p *tokenExtractors) inQuery(r *http.Request) (string, int) {
	token, n := "", 0
	if p.query == "" || r.URL.RawQuery == "" {
		return "", 0
	}
	for pair := range strings.SplitSeq(r.URL.RawQuery, "&") {
		if name, value, _ := strings.Cut(pair, "="); p.isQuery(name) {
			if decoded, err := url.QueryUnescape(value); err == nil {
				value = decoded
			}
			token = value
			n++
		}
	}
	return token, n
}

// isQuery reports whether a name in a query, in any encoding, is that of the token.
func (p *tokenExtractors) isQuery(name string) bool {
	if name == p.query {
		return true
	}
	decoded, err := url.QueryUnescape(name)
	return err == nil && decoded == p.query
}

// clean takes tokens out of a request that goes on: from every place if so configured, whichever it was read from,
// and otherwise those that was not verified. A service that reads another place first would take one of these for
// the token that was verified.
func (p *tokenExtractors) clean(r *http.Request, token string) {
	if p.header != "" {
		p.cleanHeader(r)
		// Credentials are no trailer (RFC 9110 section 6.5.1).
		forwarded.RemoveTrailers(r, p.header)
	}
	if other, n := p.inCookie(r); p.goes(other, n, token) {
		cookies.Remove(r.Header, p.cookie)
	}
	if other, n := p.inQuery(r); p.goes(other, n, token) {
		p.cleanQuery(r)
	}
}

// goes reports whether what a place holds, n tokens of which other is one, is taken out of a request that passes by a
// token.
func (p *tokenExtractors) goes(other string, n int, token string) bool {
	return n > 0 && (p.remove || n > 1 || other != token)
}

// cleanHeader leaves credentials of another scheme.
func (p *tokenExtractors) cleanHeader(r *http.Request) {
	if !p.remove {
		forwarded.RemoveAliases(r.Header, p.header)
		return
	}
	if lines := r.Header[authorization]; p.header == authorization && !slices.ContainsFunc(lines, func(line string) bool {
		_, bearer := cutBearer(line)
		return bearer
	}) {
		return
	}
	forwarded.RemoveHeader(r.Header, p.header)
}

// cleanQuery leaves all other pairs as they are, byte for byte.
func (p *tokenExtractors) cleanQuery(r *http.Request) {
	var pairs []string
	for pair := range strings.SplitSeq(r.URL.RawQuery, "&") {
		if name, _, _ := strings.Cut(pair, "="); !p.isQuery(name) {
			pairs = append(pairs, pair)
		}
	}
	query := strings.Join(pairs, "&")
	r.URL.RawQuery, r.URL.ForceQuery = query, false
	if target, _, has := strings.Cut(r.RequestURI, "?"); has {
		if query != "" {
			target += "?" + query
		}
		r.RequestURI = target
	}
}
