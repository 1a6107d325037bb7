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
)

// RedirectScheme is one configured redirectScheme.
type RedirectScheme struct {
	name      string
	scheme    string
	port      string // empty for the scheme's default
	permanent bool
}

// New validates the definition: a scheme (RFC 3986 section 3.1), and a port between 1 and 65535 or none.
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
	port := explicit(scheme, config.Port)
	return &RedirectScheme{name: name, scheme: scheme, port: port, permanent: config.Permanent}, nil
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
		scheme := clientScheme(r)
		if scheme == s.scheme && s.isPort(r) {
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
	if explicit(s.scheme, port) == s.port {
		return true
	}
	return port == "" && explicit(s.scheme, firstValue(r, forwarded.XForwardedPort)) == s.port
}

func (s *RedirectScheme) location(host string, r *http.Request) string {
	var location strings.Builder
	location.WriteString(s.scheme)
	location.WriteString("://")
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	location.WriteString(host)
	if s.port != "" {
		location.WriteByte(':')
		location.WriteString(s.port)
	}
	if path, ok := canonical.EscapedPath(r); ok {
		location.WriteString(path)
	}
	if r.URL.RawQuery != "" || r.URL.ForceQuery {
		location.WriteByte('?')
		writeASCII(&location, r.URL.RawQuery)
	}
	return location.String()
}

// writeASCII encodes bytes that are unsafe in a header value: a query is forwarded as received, possibly with raw bytes
// beyond ASCII.
func writeASCII(location *strings.Builder, query string) {
	for i := range len(query) {
		if c := query[i]; c > ' ' && c < 0x7f && strings.IndexByte(`"<>\`, c) < 0 {
			location.WriteByte(c)
		} else {
			fmt.Fprintf(location, "%%%02X", c)
		}
	}
}

func (s *RedirectScheme) status(method string) int {
	switch {
	case method == http.MethodGet && s.permanent:
		return http.StatusMovedPermanently
	case method == http.MethodGet:
		return http.StatusFound
	case s.permanent:
		return http.StatusPermanentRedirect
	}
	return http.StatusTemporaryRedirect
}

func clientScheme(r *http.Request) string {
	proto := firstValue(r, forwarded.XForwardedProto)
	if proto == "https" || proto == "http" {
		return proto // the usual case
	}
	switch strings.ToLower(proto) {
	case "http", "ws":
		return "http"
	case "https", "wss":
		return "https"
	}
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

// firstValue returns the first value of a header to which every proxy may have added one.
func firstValue(r *http.Request, name string) string {
	values := r.Header[name]
	if len(values) == 0 {
		return ""
	}
	value := values[0]
	if strings.Contains(value, ",") {
		value, _, _ = strings.Cut(value, ",")
		value = strings.TrimSpace(value)
	}
	return value
}

// explicit returns the port, or nothing for the scheme's default.
func explicit(scheme, port string) string {
	if scheme == "http" && port == "80" || scheme == "https" && port == "443" {
		return ""
	}
	return port
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
