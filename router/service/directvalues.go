package service

import (
	"net"
	"net/http"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/middleware/location"
	"github.com/sluiceproxy/sluice/nginx/uri"
	"github.com/sluiceproxy/sluice/nginx/variable"
	"github.com/sluiceproxy/sluice/telemetry"
)

// directValues has the values of nginx's variables for a request that is answered directly.
type directValues struct {
	request *http.Request
	record  *telemetry.Record
}

// Value implements [variable.Values].
func (v directValues) Value(of variable.Variable) string {
	r := v.request
	switch of.Kind {
	case variable.Scheme:
		return location.Scheme(r)
	case variable.Host:
		host, _ := canonical.Host(r.Host)
		return host
	case variable.RequestURI:
		return r.URL.RequestURI()
	case variable.URI:
		path, _ := uri.Normalize(r.URL.EscapedPath())
		return path
	case variable.RemoteAddr:
		return v.record.Client
	case variable.ServerPort:
		return v.port()
	}
	values := variable.Request{
		HTTPHost: r.Host, Query: r.URL.RawQuery, Method: r.Method, Header: r.Header, ID: r.Header.Get("X-Request-Id"),
	}
	return values.Value(of)
}

// port returns the port that has accepted the request; empty for a Unix socket.
func (v directValues) port() string {
	local, ok := v.request.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return ""
	}
	_, port, _ := net.SplitHostPort(local.String())
	return port
}
