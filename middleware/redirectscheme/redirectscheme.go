// Package redirectscheme implements the middleware redirectScheme, which redirects to another scheme, and to a port if
// configured. Response bodies contain nothing of the request.
package redirectscheme

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/middleware/answer"
	"github.com/sluiceproxy/sluice/middleware/location"
)

// RedirectScheme is one configured redirectScheme.
type RedirectScheme struct {
	name      string
	scheme    string
	port      string // empty for the scheme's default
	shown     string // the port in Location
	permanent bool
	code      int // 0 for those of permanent
	trim      bool
	anyPort   bool
}

// New validates the definition: a scheme (RFC 3986 section 3.1), a port between 1 and 65535 or none, and a status.
func New(name string, config dynamic.RedirectScheme) (*RedirectScheme, error) {
	if config.Scheme == "" {
		return nil, errors.New("redirectScheme.scheme is empty")
	}
	scheme := strings.ToLower(config.Scheme)
	if !validScheme(scheme) {
		return nil, fmt.Errorf("redirectScheme.scheme %q is not a scheme", config.Scheme)
	}
	if config.Port != "" {
		if number, err := strconv.ParseUint(config.Port, 10, 16); err != nil || number == 0 {
			return nil, fmt.Errorf("redirectScheme.port %q is not a port between 1 and 65535", config.Port)
		}
	}
	switch config.StatusCode {
	case 0, http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, fmt.Errorf("redirectScheme.statusCode %d is none of 301, 302, 307 and 308", config.StatusCode)
	}
	step := &RedirectScheme{
		name: name, scheme: scheme, port: location.Explicit(scheme, config.Port), permanent: config.Permanent,
		code: config.StatusCode, trim: config.TrimTrailingSlash, anyPort: config.AnyPort,
	}
	if step.shown = step.port; step.anyPort {
		step.shown = config.Port
	}
	return step, nil
}

// NoRetain implements httpio.NoRetainer.
func (*RedirectScheme) NoRetain() {}

// RewritesTarget implements middleware.TargetRewriter.
func (*RedirectScheme) RewritesTarget() {}

// Wrap returns a handler that calls next for a client that uses the scheme and port already, and redirects others: with
// 301 (permanent) or 302 for GET, and 308 or 307 for other methods, HEAD too, so that the method is kept. The client's
// scheme is X-Forwarded-Proto (the first of several; ws counts as http, wss as https), or that of the connection; its
// port is that of the Host header. If that has none, X-Forwarded-Port is used, but only to end redirects. A request
// without a valid Host is answered with 400.
func (s *RedirectScheme) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme := location.Scheme(r)
		if scheme == s.scheme && (s.anyPort || s.isPort(r)) {
			next.ServeHTTP(w, r)
			return
		}
		host, ok := canonical.Host(r.Host)
		if !ok {
			answer.BadRequest(w, r, s.name, errors.New("there is no host to redirect to"))
			return
		}
		w.Header().Set("Location", s.location(host, r))
		status := s.status(r.Method)
		http.Error(w, http.StatusText(status), status)
	})
}

// isPort reports whether the client uses the configured port already.
func (s *RedirectScheme) isPort(r *http.Request) bool {
	port := ""
	if strings.IndexByte(r.Host, ':') >= 0 {
		port = canonical.Port(r.Host)
	}
	if location.Explicit(s.scheme, port) == s.port {
		return true
	}
	return port == "" && location.Explicit(s.scheme, location.First(r, forwarded.XForwardedPort)) == s.port
}

func (s *RedirectScheme) location(host string, r *http.Request) string {
	path, ok := canonical.EscapedPath(r)
	if !ok {
		path = ""
	}
	target := location.URL(s.scheme, host, s.shown, path, r)
	if s.trim {
		target = strings.TrimSuffix(target, "/")
	}
	return target
}

func (s *RedirectScheme) status(method string) int {
	switch {
	case s.code != 0:
		return s.code
	case method == http.MethodGet && s.permanent:
		return http.StatusMovedPermanently
	case method == http.MethodGet:
		return http.StatusFound
	case s.permanent:
		return http.StatusPermanentRedirect
	}
	return http.StatusTemporaryRedirect
}

func validScheme(scheme string) bool {
	for i, c := range scheme {
		letter, other := 'a' <= c && c <= 'z', '0' <= c && c <= '9' || strings.ContainsRune("+-.", c)
		if !letter && (!other || i == 0) {
			return false
		}
	}
	return true
}
