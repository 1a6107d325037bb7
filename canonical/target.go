package canonical

import (
	"net/http"
	"net/url"
	"strings"
)

// Target is one path in its escaped and its routing form. See the package comment.
type Target struct {
	// Escaped is the path to forward: it begins with "/", or is "*".
	Escaped string
	// Routing is the path that rules are matched with.
	Routing string
}

// Set writes the path into u, such that u.EscapedPath() is t.Escaped. u.RawPath is empty if u.Path is sufficient.
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

// decode decodes every percent-encoding of a normalised path.
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

// Normalize normalises the target of r: its form, path and query. It writes URL, RequestURI and, for an absolute-form
// target (HTTP/1 only), Host; a request that needs no change is not written to. It is called once per request, before
// other readers of the target. The error is an [*Error], and r must then not be served.
func (p Policy) Normalize(r *http.Request) (Target, error) {
	u := r.URL
	absolute, err := p.checkForm(r)
	if err != nil {
		return Target{}, err
	}
	// RawPath is the received path if Path alone is ambiguous. EscapedPath would ignore it for one raw byte that net/url
	// rejects, and turn its %2F into a separator.
	received := u.RawPath
	if received == "" {
		received = u.EscapedPath()
	}
	if received == "" && r.Method == http.MethodOptions && u.RawQuery == "" && !u.ForceQuery {
		received = "*"
	}
	if received == "*" && r.Method != http.MethodOptions {
		return Target{}, refuse("only OPTIONS may have the target *")
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

// checkForm refuses unsupported forms of request targets, and reports whether it is in absolute form.
func (p Policy) checkForm(r *http.Request) (absolute bool, err error) {
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
		// HTTP/2 sends the host in :authority, and one in the path would replace it (RFC 9113, section 8.3.1).
		return false, refuse("the target is no path")
	}
	if !strings.EqualFold(u.Scheme, "http") && !strings.EqualFold(u.Scheme, "https") || u.Opaque != "" || u.Host == "" {
		return false, refuse("the absolute target is not http://host or https://host")
	}
	if p.PlainOnly && !strings.EqualFold(u.Scheme, "http") {
		return false, &Error{Status: http.StatusNotImplemented, Reason: "this proxy forwards http only"}
	}
	r.Host = u.Host
	return true, nil
}

// requestURI returns the target with a new path.
func requestURI(r *http.Request, escaped string) string {
	query := r.URL.RawQuery
	if query == "" && !r.URL.ForceQuery {
		return escaped
	}
	// The query follows the received path.
	path := len(escaped)
	if cut := len(r.RequestURI) - path - 1 - len(query); cut >= 0 {
		end := r.RequestURI[cut:]
		if end[:path] == escaped && end[path] == '?' && end[path+1:] == query {
			return end
		}
	}
	return escaped + "?" + query
}
