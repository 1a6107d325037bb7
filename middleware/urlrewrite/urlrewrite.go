// Package urlrewrite implements the middleware urlRewrite, which changes the host or the path of requests to services.
package urlrewrite

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/answer"
	"github.com/sluiceproxy/sluice/middleware/pathmodifier"
)

// URLRewrite is one configured urlRewrite.
type URLRewrite struct {
	name string
	host string                 // empty keeps the client's
	path *pathmodifier.Modifier // nil keeps the path
}

// New validates the definition: a host without a port, or a path, or both.
func New(name string, config dynamic.URLRewrite) (*URLRewrite, error) {
	u := &URLRewrite{name: name, host: config.Hostname}
	if u.host == "" && config.Path == nil {
		return nil, errors.New("urlRewrite has neither hostname nor path")
	}
	if u.host != "" {
		if _, ok := canonical.Host(u.host); !ok || canonical.Port(u.host) != "" {
			return nil, fmt.Errorf("urlRewrite.hostname %q is not a host without a port", u.host)
		}
	}
	if config.Path != nil {
		var err error
		if u.path, err = pathmodifier.New("urlRewrite.path", config.Path); err != nil {
			return nil, err
		}
	}
	return u, nil
}

// NoRetain implements httpio.NoRetainer.
func (*URLRewrite) NoRetain() {}

// RewritesTarget implements middleware.TargetRewriter.
func (*URLRewrite) RewritesTarget() {}

// Wrap returns a handler that changes the host and the path of a request and calls next. A path that must not stand
// alone is answered with 400. "OPTIONS *" has no path and keeps it.
func (u *URLRewrite) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u.path != nil {
			if escaped, has := canonical.EscapedPath(r); has {
				if path, changed := u.path.Path(escaped); changed {
					if err := canonical.SetPath(r, path); err != nil {
						answer.BadRequest(w, r, u.name, err)
						return
					}
				}
			}
		}
		if u.host != "" {
			r.Host = u.host
		}
		next.ServeHTTP(w, r)
	})
}
