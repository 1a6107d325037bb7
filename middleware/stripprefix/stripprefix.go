// Package stripprefix is the middleware stripPrefix: it removes a prefix from the path and names it to the service.
//
// What flows in: a request with a canonical path. What flows out: the same request below the prefix, with
// X-Forwarded-Prefix. It compares the path as rules do, so that a prefix never matches across an encoded slash, and
// never touches the query.
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
	prefixes []string // escaped, in the order of the definition
}

// New checks the definition: at least one prefix, each beginning with a slash, without dot segments or empty
// segments. White space around a prefix is dropped. ForceSlash is deprecated and changes nothing: a stripped path
// begins with a slash either way.
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

// NoRetain says that no part of a request outlives its handler here.
func (*StripPrefix) NoRetain() {}

// Wrap returns a handler that removes the first prefix that the path begins with, appends it to X-Forwarded-Prefix
// and calls next. A path without any of them passes unchanged; one whose rest must not stand alone, as "/../x" must
// not, is answered with 400.
//
// Values of X-Forwarded-Prefix that are there already come from another stripPrefix or from a trusted peer and stay
// before the new one, as the service must know all of them to make links: those of other peers are removed before any
// middleware runs. Aliases of the header are removed here once more.
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
