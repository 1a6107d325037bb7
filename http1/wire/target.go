package wire

import (
	"net/http"
	"net/url"
	"strings"
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
