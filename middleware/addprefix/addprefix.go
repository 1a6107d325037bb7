// Package addprefix implements the middleware addPrefix, which prepends a prefix to the path. The query and "OPTIONS
// *", which has no path, are unchanged.
package addprefix

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/answer"
)

// AddPrefix is one configured addPrefix.
type AddPrefix struct {
	name   string
	prefix string // escaped, without a trailing slash
}

// New checks the definition. The prefix must not be empty or hold dot segments or empty segments. A missing leading
// slash is added; a trailing slash is removed.
func New(name string, config dynamic.AddPrefix) (*AddPrefix, error) {
	if config.Prefix == "" {
		return nil, errors.New("addPrefix.prefix is empty")
	}
	prefix, err := canonical.Literal(config.Prefix)
	if err != nil {
		return nil, fmt.Errorf("addPrefix.prefix %q: %w", config.Prefix, err)
	}
	return &AddPrefix{name: name, prefix: strings.TrimSuffix(prefix, "/")}, nil
}

// NoRetain implements httpio.NoRetainer.
func (*AddPrefix) NoRetain() {}

// RewritesTarget implements middleware.TargetRewriter.
func (*AddPrefix) RewritesTarget() {}

// Wrap returns a handler that adds the prefix and calls next. A path that canonical.SetPath refuses is answered with
// 400.
func (a *AddPrefix) Wrap(next http.Handler) http.Handler {
	if a.prefix == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := canonical.EscapedPath(r); ok {
			if err := canonical.PrependPath(r, a.prefix); err != nil {
				answer.BadRequest(w, r, a.name, err)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}
