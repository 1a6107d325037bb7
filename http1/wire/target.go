package wire

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/sluiceproxy/sluice/canonical"
)

// URL fills u from the target of r, with the result of net/url, and returns the host that the request is for: that of a
// target in absolute or authority form, otherwise r.Host. A plain path costs no allocation. The error is an [*Error].
func (r *Request) URL(u *url.URL) (host string, err error) {
	if path, query, found := strings.Cut(r.Target, "?"); plain(path) {
		*u = url.URL{Path: path, RawQuery: query, ForceQuery: found && query == ""}
		return r.Host, nil
	}
	target := r.Target
	authority := r.Method == http.MethodConnect && target[0] != '/'
	if authority {
		target = "http://" + target
	}
	parsed, parseErr := url.ParseRequestURI(target)
	switch {
	case parseErr != nil:
		return "", ErrTarget
	case parsed.User != nil:
		return "", ErrUserinfo
	case parsed.Scheme != "" && (parsed.Opaque != "" || parsed.Host == ""):
		return "", ErrTarget
	}
	*u = *parsed
	if authority {
		u.Scheme = ""
	}
	if u.Host == "" {
		return r.Host, nil
	}
	if strings.IndexByte(u.Host, '%') >= 0 {
		return "", ErrHost // net/url has decoded what led here: the host would be another than the one that was sent.
	}
	return u.Host, checkHost(u.Host)
}

// plain reports whether a path in origin form is its own decoded form.
func plain(path string) bool {
	if path == "" || path[0] != '/' {
		return false
	}
	for i := range len(path) {
		if !isPlain(path[i]) {
			return false
		}
	}
	return true
}

// AppendTarget appends the target of a request to an origin server: path and query of u as they are escaped there, or
// its opaque part. What would end the target is [ErrTarget].
func AppendTarget(b []byte, u *url.URL) ([]byte, error) {
	start := len(b)
	switch {
	case u.Opaque != "":
		b = append(b, u.RequestURI()...)
	default:
		path := u.EscapedPath()
		if path == "" {
			path = "/"
		}
		b = append(b, path...)
		if u.ForceQuery || u.RawQuery != "" {
			b = append(b, '?')
			b = append(b, u.RawQuery...)
		}
	}
	for _, c := range b[start:] {
		if c <= ' ' || c == 0x7f {
			return b, ErrTarget
		}
	}
	return b, nil
}

// AppendAuthority appends the host that a request is for: r.Host, or that of its URL. An IPv6 zone is left out. The
// error is [ErrNoHost] or [ErrHost].
func AppendAuthority(b []byte, r *http.Request) ([]byte, error) {
	host := r.Host
	if host == "" {
		host = r.URL.Host
	}
	if host == "" {
		return b, ErrNoHost
	}
	// A zone means something on this machine only (RFC 6874 section 1).
	if open := strings.LastIndexByte(host, '['); open >= 0 {
		if zone := strings.IndexByte(host[open:], '%'); zone >= 0 {
			end := strings.LastIndexByte(host, ']')
			if end < open+zone {
				return b, ErrHost
			}
			host = host[:open+zone] + host[end:]
		}
	}
	if !canonical.ValidAuthority(host) {
		return b, ErrHost
	}
	return append(b, host...), nil
}
