package canonical

import (
	"net/http"
	"net/url"
	"strings"
)

// Target is one path in its two spellings. See the package comment.
type Target struct {
	// Escaped is the path to forward: it begins with "/", or is "*".
	Escaped string
	// Routing is the path that rules compare.
	Routing string
}

// Set writes the path into u, such that u.EscapedPath() is t.Escaped and u.RawPath is empty where u.Path alone says the
// same.
func (t Target) Set(u *url.URL) { setPath(u, t.Escaped) }

func setPath(u *url.URL, escaped string) {
	u.Path, u.RawPath = escaped, ""
	if strings.IndexByte(escaped, '%') >= 0 {
		u.Path = decode(escaped)
	}
	if u.EscapedPath() != escaped {
		u.RawPath = escaped
	}
}

// decode removes every percent-encoding of a normalised path.
func decode(escaped string) string {
	out := make([]byte, 0, len(escaped))
	for i := 0; i < len(escaped); i++ {
		c := escaped[i]
		if decoded, ok := decodeAt(escaped, i); c == '%' && ok {
			c = decoded
			i += 2
		}
		out = append(out, c)
	}
	return string(out)
}

// Normalize brings the target of r into the one form: the request target's kind, path and query. It writes URL,
// RequestURI and, for an absolute-form target, which only HTTP/1 has, Host; a request with nothing to do is not written
// to. It is called once per request, before anything looks at it. The error is an [*Error], and r must then not be
// served.
func (p Policy) Normalize(r *http.Request) (Target, error) {
	u := r.URL
	absolute, err := checkForm(r)
	if err != nil {
		return Target{}, err
	}
	// RawPath is what was received whenever Path alone does not say it; EscapedPath would drop it for one raw byte that
	// net/url does not accept, and turn its %2F into a separator.
	received := u.RawPath
	if received == "" {
		received = u.EscapedPath()
	}
	if received == "" && r.Method == http.MethodOptions && u.RawQuery == "" && !u.ForceQuery {
		received = "*"
	}
	if received == "*" && r.Method != http.MethodOptions {
		return Target{}, refuse("only OPTIONS asks for *")
	}
	target, err := p.Apply(received)
	if err != nil {
		return Target{}, err
	}
	query, err := p.Query(u.RawQuery)
	if err != nil {
		return Target{}, err
	}
	if absolute || target.Escaped != received || query != u.RawQuery {
		u.Scheme, u.Host = "", ""
		u.RawQuery = query
		target.Set(u)
		r.RequestURI = requestURI(r, target.Escaped)
	}
	return target, nil
}

// checkForm refuses the kinds of request target that this proxy does not serve, and reports whether it is in absolute
// form.
func checkForm(r *http.Request) (absolute bool, err error) {
	u := r.URL
	if r.Method == http.MethodConnect {
		return false, &Error{Status: http.StatusNotImplemented, Reason: "this proxy opens no tunnels"}
	}
	if u.User != nil {
		return false, refuse("the target has user information")
	}
	if u.Scheme == "" && u.Host == "" && u.Opaque == "" {
		return false, nil
	}
	if r.ProtoMajor > 1 {
		// There the host has a place of its own, and one in the path would replace it (RFC 9113, section 8.3.1).
		return false, refuse("the target is no path")
	}
	if !strings.EqualFold(u.Scheme, "http") && !strings.EqualFold(u.Scheme, "https") || u.Opaque != "" || u.Host == "" {
		return false, refuse("the absolute target is not http://host or https://host")
	}
	r.Host = u.Host
	return true, nil
}

// requestURI returns the target with another path.
func requestURI(r *http.Request, escaped string) string {
	query := r.URL.RawQuery
	if query == "" && !r.URL.ForceQuery {
		return escaped
	}
	// What is cut off a path leaves the end of the target that there was.
	path := len(escaped)
	if cut := len(r.RequestURI) - path - 1 - len(query); cut >= 0 {
		end := r.RequestURI[cut:]
		if end[:path] == escaped && end[path] == '?' && end[path+1:] == query {
			return end
		}
	}
	return escaped + "?" + query
}
