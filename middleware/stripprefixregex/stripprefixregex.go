// Package stripprefixregex is the middleware stripPrefixRegex: it removes what a regular expression matches at the
// beginning of the path and names that to the service.
//
// What flows in: a request with a canonical path. What flows out: the same request below the prefix, with
// X-Forwarded-Prefix. It matches the path that rules compare and cuts the one that is forwarded at the same
// character, and it never touches the query.
package stripprefixregex

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/middleware/answer"
	"github.com/sluiceproxy/sluice/middleware/pattern"
)

// StripPrefixRegex is one configured stripPrefixRegex.
type StripPrefixRegex struct {
	name     string
	prefixes []*pattern.Regexp // in the order of the definition
}

// errSplit is why a prefix that ends inside a percent-encoding is refused.
var errSplit = errors.New("the prefix ends inside an encoded character")

// New checks the definition: at least one regular expression, none of them empty. White space around one is dropped.
func New(name string, config dynamic.StripPrefixRegex) (*StripPrefixRegex, error) {
	if len(config.Regex) == 0 {
		return nil, errors.New("stripPrefixRegex.regex is empty")
	}
	s := &StripPrefixRegex{name: name}
	for _, text := range config.Regex {
		text = strings.TrimSpace(text)
		if text == "" {
			return nil, errors.New("stripPrefixRegex.regex: an empty regular expression removes nothing")
		}
		prefix, err := pattern.CompilePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("stripPrefixRegex.regex: %q %w", text, err)
		}
		s.prefixes = append(s.prefixes, prefix)
	}
	return s, nil
}

// NoRetain says that no part of a request outlives its handler here.
func (*StripPrefixRegex) NoRetain() {}

// Wrap returns a handler that removes what the first matching expression matches, appends it to X-Forwarded-Prefix
// and calls next. A path at whose beginning none of them matches, or only the empty text, passes unchanged. One whose
// rest must not stand alone, as "/../x" must not, is answered with 400, and so is one where the prefix would end
// inside an encoded character.
func (s *StripPrefixRegex) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := s.match(r); n > 0 {
			if err := strip(r, n); err != nil {
				answer.BadRequest(w, r, s.name, err)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// match returns how many bytes of the routing path to remove.
func (s *StripPrefixRegex) match(r *http.Request) int {
	path := canonical.RoutingPath(r)
	if path == "*" {
		return 0
	}
	for _, prefix := range s.prefixes {
		if found := prefix.FindStringIndex(path); found != nil && found[1] > 0 {
			return found[1]
		}
	}
	return 0
}

func strip(r *http.Request, n int) error {
	path, _ := canonical.EscapedPath(r)
	prefix, rest, ok := canonical.CutRouting(path, n)
	if !ok {
		return errSplit
	}
	if err := canonical.SetPath(r, rest); err != nil {
		return err
	}
	forwarded.AddHeader(r.Header, forwarded.XForwardedPrefix, prefix)
	return nil
}
