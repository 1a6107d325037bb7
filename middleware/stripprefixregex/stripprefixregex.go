// Package stripprefixregex implements the middleware stripPrefixRegex, which removes the match of a regular expression
// at the beginning of the path and sends it in X-Forwarded-Prefix. It matches the routing path and cuts the escaped
// path at the same character. The query is unchanged.
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
	prefixes []*pattern.Regexp // in configured order
}

// errSplit is the error for a prefix that ends inside a percent-encoding.
var errSplit = errors.New("the prefix ends inside an encoded character")

// New validates the definition: at least one regular expression, none of them empty. White space around one is removed.
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

// NoRetain implements httpio.NoRetainer.
func (*StripPrefixRegex) NoRetain() {}

// RewritesTarget implements middleware.TargetRewriter.
func (*StripPrefixRegex) RewritesTarget() {}

// Wrap returns a handler that removes the match of the first matching expression, appends it to X-Forwarded-Prefix and
// calls next. A path without a match, or with an empty one, passes unchanged. If the rest is invalid alone, as "/../x",
// or the prefix ends inside a percent-encoding, the answer is 400.
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

// match returns the number of bytes to remove from the routing path.
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
