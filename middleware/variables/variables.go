// Package variables has the values of nginx's variables for the requests that pass middlewares.
package variables

import (
	"fmt"
	"net"
	"net/http"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/middleware/authorize"
	"github.com/sluiceproxy/sluice/middleware/location"
	"github.com/sluiceproxy/sluice/nginx/uri"
	"github.com/sluiceproxy/sluice/nginx/variable"
)

// Parse reads the value of an option, with which errors begin. Variables without a value for every request are refused:
// those of a location, of captures and of certificates.
func Parse(option, text string) (variable.Template, error) {
	template, err := variable.Parse(text)
	if err != nil {
		return variable.Template{}, fmt.Errorf("%s: %w", option, err)
	}
	for _, kind := range []variable.Kind{variable.Capture, variable.Object, variable.Certificate} {
		if template.Has(kind) {
			return variable.Template{}, fmt.Errorf("%s: has a variable that has no value here", option)
		}
	}
	return template, nil
}

// Request has the values of a request as it is when they are read: path and query are those that the service gets,
// unless a later middleware changes them.
type Request struct{ *http.Request }

// Value implements [variable.Values].
func (r Request) Value(of variable.Variable) string {
	switch of.Kind {
	case variable.Scheme:
		return location.Scheme(r.Request)
	case variable.Host:
		host, _ := canonical.Host(r.Host)
		return host
	case variable.RequestURI:
		return r.URL.RequestURI()
	case variable.EscapedRequestURI:
		return variable.EscapeArgument(r.URL.RequestURI())
	case variable.URI:
		path, _ := uri.Normalize(r.URL.EscapedPath())
		return path
	case variable.RemoteAddr:
		return authorize.ClientAddress(r.Request)
	case variable.ServerPort:
		return r.port()
	default:
		return r.plain(of)
	}
}

// plain returns what is read from the request as it is.
func (r Request) plain(of variable.Variable) string {
	values := variable.Request{
		HTTPHost: r.Host, Query: r.URL.RawQuery, Method: r.Method, Header: r.Header, ID: r.Header.Get("X-Request-Id"),
	}
	return values.Value(of)
}

// port returns the port that has accepted the request.
func (r Request) port() string {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return ""
	}
	_, port, _ := net.SplitHostPort(local.String())
	return port
}
