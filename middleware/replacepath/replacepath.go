// Package replacepath is the middleware replacePath: it replaces the whole path and names the one before to the
// service.
//
// What flows in: a request with a canonical path. What flows out: the same request with the configured path and
// X-Replaced-Path. It never touches the query, and leaves "OPTIONS *", which has no path, alone.
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

// NoRetain says that no part of a request outlives its handler here.
func (*ReplacePath) NoRetain() {}

// Wrap returns a handler that replaces the path, appends the one from before to X-Replaced-Path and calls next. A
// path that must not be edited (canonical.SetPath) is answered with 400.
//
// Values of X-Replaced-Path that are there already come from another replacement or from a trusted peer and stay
// before the new one: those of other peers are removed before any middleware runs. Aliases of the header are removed
// here once more.
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
