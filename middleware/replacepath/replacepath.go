// Package replacepath implements the middleware replacePath, which replaces the whole path and sends the previous one
// in X-Replaced-Path. The query and "OPTIONS *", which has no path, are unchanged.
package replacepath

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/middleware/answer"
)

// ReplacePath is one configured replacePath.
type ReplacePath struct {
	name string
	path string // escaped
}

// New checks the definition. The path must not be empty or hold dot segments or empty segments; a missing leading
// slash is added, and "?" and "#" are encoded, as they are part of the path here.
func New(name string, config dynamic.ReplacePath) (*ReplacePath, error) {
	if config.Path == "" {
		return nil, errors.New("replacePath.path is empty")
	}
	path, err := canonical.Literal(config.Path)
	if err != nil {
		return nil, fmt.Errorf("replacePath.path %q: %w", config.Path, err)
	}
	return &ReplacePath{name: name, path: path}, nil
}

// NoRetain implements httpio.NoRetainer.
func (*ReplacePath) NoRetain() {}

// RewritesTarget implements middleware.TargetRewriter.
func (*ReplacePath) RewritesTarget() {}

// Wrap returns a handler that replaces the path, appends the previous one to X-Replaced-Path and calls next. A path
// that canonical.SetPath refuses is answered with 400.
//
// Existing values of X-Replaced-Path are from another replacement or a trusted peer and are kept; those of other peers
// have been removed. Aliases of the header are removed.
func (p *ReplacePath) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if before, ok := canonical.EscapedPath(r); ok {
			if err := canonical.SetPath(r, p.path); err != nil {
				answer.BadRequest(w, r, p.name, err)
				return
			}
			forwarded.AddHeader(r.Header, forwarded.XReplacedPath, before)
		}
		next.ServeHTTP(w, r)
	})
}
