// Package requestredirect implements the middleware requestRedirect, which redirects to the same URL with other parts.
// Response bodies contain nothing of the request.
package requestredirect

import (
	"cmp"
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
	"github.com/sluiceproxy/sluice/middleware/pathmodifier"
)

// RequestRedirect is one configured requestRedirect.
type RequestRedirect struct {
	name   string
	scheme string                 // empty keeps the client's
	host   string                 // empty keeps the request's
	port   string                 // empty for none of its own
	path   *pathmodifier.Modifier // nil keeps the path
	status int
}

// New validates the definition: the scheme is http or https, the host has no port, the port is between 1 and 65535, and
// the status one of 301, 302, 303, 307 and 308.
func New(name string, config dynamic.RequestRedirect) (*RequestRedirect, error) {
	d := &RequestRedirect{name: name, scheme: strings.ToLower(config.Scheme), status: config.StatusCode}
	if d.scheme != "" && d.scheme != "http" && d.scheme != "https" {
		return nil, fmt.Errorf("requestRedirect.scheme %q is neither http nor https", config.Scheme)
	}
	if config.Hostname != "" {
		host, ok := canonical.Host(config.Hostname)
		if !ok || canonical.Port(config.Hostname) != "" {
			return nil, fmt.Errorf("requestRedirect.hostname %q is not a host without a port", config.Hostname)
		}
		d.host = host
	}
	if config.Port < 0 || config.Port > 65535 {
		return nil, fmt.Errorf("requestRedirect.port %d is not a port between 1 and 65535", config.Port)
	}
	if config.Port > 0 {
		d.port = strconv.Itoa(config.Port)
	}
	switch d.status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect:
	default:
		return nil, fmt.Errorf("requestRedirect.statusCode %d is none of 301, 302, 303, 307 and 308", config.StatusCode)
	}
	if config.Path != nil {
		var err error
		if d.path, err = pathmodifier.New("requestRedirect.path", config.Path); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// NoRetain implements httpio.NoRetainer.
func (*RequestRedirect) NoRetain() {}

// RewritesTarget implements middleware.TargetRewriter.
func (*RequestRedirect) RewritesTarget() {}

// Wrap returns a handler that redirects every request and never calls next. The client's scheme is X-Forwarded-Proto,
// or that of the connection; its port X-Forwarded-Port, or that of the Host header. A request without a valid Host is
// answered with 400.
func (d *RequestRedirect) Wrap(http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := d.host
		if host == "" {
			var ok bool
			if host, ok = canonical.Host(r.Host); !ok {
				answer.BadRequest(w, r, d.name, errors.New("there is no host to redirect to"))
				return
			}
		}
		scheme := cmp.Or(d.scheme, location.Scheme(r))
		path, has := canonical.EscapedPath(r)
		if !has {
			path = ""
		} else if d.path != nil {
			path, _ = d.path.Path(path)
		}
		w.Header().Set("Location", location.URL(scheme, host, location.Explicit(scheme, d.portFor(r)), path, r))
		http.Error(w, http.StatusText(d.status), d.status)
	})
}

// portFor returns the port of the URL, or nothing for the default one of its scheme.
func (d *RequestRedirect) portFor(r *http.Request) string {
	if d.port != "" || d.scheme != "" {
		return d.port
	}
	port := location.First(r, forwarded.XForwardedPort)
	if number, err := strconv.ParseUint(port, 10, 16); err == nil && number > 0 {
		return port
	}
	return canonical.Port(r.Host)
}
