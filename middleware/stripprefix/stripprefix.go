// Package stripprefix implements the middleware stripPrefix, which removes a prefix from the path and sends it in
// X-Forwarded-Prefix. Prefixes are compared like those of rules, and do not match across an encoded slash. The query is
// unchanged.
package stripprefix

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/middleware/answer"
)

// StripPrefix is one configured stripPrefix.
type StripPrefix struct {
	name     string
	prefixes []string // escaped, in configured order
}

// New validates the definition: at least one prefix, each beginning with a slash, without dot segments or empty
// segments. White space around a prefix is removed. ForceSlash is deprecated and has no effect: a stripped path always
// begins with a slash.
func New(name string, config dynamic.StripPrefix) (*StripPrefix, error) {
	if len(config.Prefixes) == 0 {
		return nil, errors.New("stripPrefix.prefixes is empty")
	}
	s := &StripPrefix{name: name}
	for _, text := range config.Prefixes {
		text = strings.TrimSpace(text)
		if !strings.HasPrefix(text, "/") {
			return nil, fmt.Errorf("stripPrefix.prefixes: %q does not begin with a slash, so no path begins with it", text)
		}
		prefix, err := canonical.Literal(text)
		if err != nil {
			return nil, fmt.Errorf("stripPrefix.prefixes: %q: %w", text, err)
		}
		s.prefixes = append(s.prefixes, prefix)
	}
	return s, nil
}

// NoRetain implements httpio.NoRetainer.
func (*StripPrefix) NoRetain() {}

// RewritesTarget implements middleware.TargetRewriter.
func (*StripPrefix) RewritesTarget() {}

// Wrap returns a handler that removes the first matching prefix, appends it to X-Forwarded-Prefix and calls next. Other
// paths pass unchanged; if the rest is invalid alone, as "/../x", the answer is 400.
//
// Existing values of X-Forwarded-Prefix are from another stripPrefix or a trusted peer and are kept, since services
// need all of them for links; those of other peers have been removed. Aliases of the header are removed.
func (s *StripPrefix) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, _ := canonical.EscapedPath(r)
		for _, prefix := range s.prefixes {
			rest, found := strings.CutPrefix(path, prefix)
			if !found {
				continue
			}
			if err := canonical.SetPath(r, rest); err != nil {
				answer.BadRequest(w, r, s.name, err)
				return
			}
			forwarded.AddHeader(r.Header, forwarded.XForwardedPrefix, prefix)
			break
		}
		next.ServeHTTP(w, r)
	})
}
