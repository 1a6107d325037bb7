// Package replacepathregex implements the middleware replacePathRegex, which rewrites the path with a regular
// expression and sends the previous one in X-Replaced-Path. The query and "OPTIONS *", which has no path, are
// unchanged.
package replacepathregex

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

// ReplacePathRegex is one configured replacePathRegex.
type ReplacePathRegex struct {
	name        string
	regex       *pattern.Regexp
	replacement string
}

// errLong is the error for paths with too many matches or too long a result.
var errLong = errors.New("the path matches too often, or the changed path is too long")

// New validates the definition: a regular expression, and a replacement that may be empty. White space around both is
// removed. Literals of the replacement are part of the path, also "?" and "#".
func New(name string, config dynamic.ReplacePathRegex) (*ReplacePathRegex, error) {
	text, replacement := strings.TrimSpace(config.Regex), strings.TrimSpace(config.Replacement)
	if text == "" {
		return nil, errors.New("replacePathRegex.regex is empty")
	}
	regex, err := pattern.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("replacePathRegex.regex %q %w", text, err)
	}
	if len(replacement) > pattern.MaxText {
		return nil, fmt.Errorf("replacePathRegex.replacement has %d bytes, more than the %d that are allowed",
			len(replacement), pattern.MaxText)
	}
	if strings.ContainsFunc(replacement, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return nil, fmt.Errorf("replacePathRegex.replacement %q has a control character", replacement)
	}
	return &ReplacePathRegex{name: name, regex: regex, replacement: literal(replacement)}, nil
}

// literal encodes characters that would end the path. Neither can be in the name of a group.
func literal(replacement string) string {
	return strings.NewReplacer("#", "%23", " ", "%20").Replace(replacement)
}

// NoRetain implements httpio.NoRetainer.
func (*ReplacePathRegex) NoRetain() {}

// RewritesTarget implements middleware.TargetRewriter.
func (*ReplacePathRegex) RewritesTarget() {}

// Wrap returns a handler that replaces every match in the escaped path, appends the previous path to X-Replaced-Path
// and calls next. A path that does not match passes unchanged. A result that [canonical.SetPath] refuses is answered
// with 400.
func (p *ReplacePathRegex) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if before, ok := canonical.EscapedPath(r); ok && p.regex.MatchString(before) {
			if err := p.replace(r, before); err != nil {
				answer.BadRequest(w, r, p.name, err)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

func (p *ReplacePathRegex) replace(r *http.Request, before string) error {
	after, ok := p.regex.Replace(before, p.replacement)
	if !ok {
		return errLong
	}
	if err := canonical.SetPath(r, after); err != nil {
		return err
	}
	forwarded.AddHeader(r.Header, forwarded.XReplacedPath, before)
	return nil
}
