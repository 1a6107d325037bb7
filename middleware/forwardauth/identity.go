package forwardauth

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/middleware/authorize"
	"github.com/sluiceproxy/sluice/middleware/pattern"
)

// identity says which headers of the authentication server's answer a request goes on with: the options
// authResponseHeaders, authResponseHeadersRegex and headerField. It is an immutable value.
type identity struct {
	names []string
	// expression matches names without regard to case, as names compare; nil matches none.
	expression *pattern.Regexp
}

func newIdentity(config *dynamic.ForwardAuth) (identity, error) {
	const option = "forwardAuth.authResponseHeaders"
	names, err := authorize.SettableNames(option, config.AuthResponseHeaders)
	if err != nil {
		return identity{}, err
	}
	if config.AuthResponseHeadersRegex == "" {
		return identity{names: names}, nil
	}
	if _, err := pattern.Compile(config.AuthResponseHeadersRegex); err != nil {
		return identity{}, fmt.Errorf("%sRegex %w", option, err)
	}
	expression, err := pattern.Compile("(?i)" + config.AuthResponseHeadersRegex)
	if err != nil {
		return identity{}, fmt.Errorf("%sRegex %w", option, err)
	}
	return identity{names: names, expression: expression}, nil
}

// matches reports whether the expression matches a name, or one that a server which reads "_" as "-" takes for the
// same.
func (i *identity) matches(name string) bool {
	if forwarded.Frames(name) {
		return false
	}
	return i.expression.MatchString(name) ||
		strings.Contains(name, "_") && i.expression.MatchString(strings.ReplaceAll(name, "_", "-")) ||
		strings.Contains(name, "-") && i.expression.MatchString(strings.ReplaceAll(name, "-", "_"))
}

// strip removes whatever a client has sent under the names, in any spelling.
func (i *identity) strip(h http.Header) {
	if len(i.names) > 0 {
		forwarded.RemoveHeader(h, i.names...)
	}
	if i.expression == nil {
		return
	}
	for name := range h {
		if i.matches(name) {
			delete(h, name)
		}
	}
}

// apply gives the request the headers of the answer, and removes those of the client, from the head and from the
// trailers. No Connection header takes away what is set.
func (i *identity) apply(r *http.Request, granted http.Header) {
	if len(i.names) == 0 && i.expression == nil {
		return
	}
	i.strip(r.Header)
	for _, name := range i.names {
		if values := granted[name]; len(values) > 0 {
			r.Header[name] = values
		}
	}
	matched := i.match(r.Header, granted)
	if forwarded.MayHaveTrailers(r) {
		forwarded.EditTrailers(r, func(trailer http.Header) {
			i.strip(trailer)
			forwarded.RemoveHeader(trailer, matched...)
		})
	}
}

// match sets the headers of the answer that the expression matches, and returns their names.
func (i *identity) match(h, granted http.Header) (names []string) {
	if i.expression == nil {
		return nil
	}
	for name, values := range granted {
		if !forwarded.Frames(name) && i.expression.MatchString(name) {
			forwarded.RemoveHeader(h, name)
			h[name] = values
			names = append(names, name)
		}
	}
	return names
}
