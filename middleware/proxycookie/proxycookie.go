// Package proxycookie implements the middleware proxyCookie, which changes the attributes Domain and Path of the
// cookies in responses.
package proxycookie

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/headerlist"
	"github.com/sluiceproxy/sluice/middleware/proxyrewrite"
	"github.com/sluiceproxy/sluice/nginx/variable"
)

// ProxyCookie is one configured proxyCookie.
type ProxyCookie struct {
	domain, path *proxyrewrite.List
	exclude      []string
}

// New validates the definition: there is a rewrite, each has a from, and exclude lists names of cookies.
func New(_ string, config dynamic.ProxyCookie) (*ProxyCookie, error) {
	m := &ProxyCookie{exclude: config.Exclude}
	var err error
	if m.domain, err = proxyrewrite.Parse("proxyCookie.domain", proxyrewrite.Domain, config.Domain); err != nil {
		return nil, err
	}
	if m.path, err = proxyrewrite.Parse("proxyCookie.path", proxyrewrite.Prefix, config.Path); err != nil {
		return nil, err
	}
	if m.domain.Empty() && m.path.Empty() {
		return nil, errors.New("proxyCookie has none of domain and path")
	}
	for i, name := range config.Exclude {
		if !headerlist.ValidName(name) {
			return nil, fmt.Errorf("proxyCookie.exclude[%d] %q can't be the name of a cookie", i, name)
		}
	}
	return m, nil
}

// NoRetain implements httpio.NoRetainer.
func (*ProxyCookie) NoRetain() {}

// Wrap returns a handler that calls next with a writer that rewrites the cookies of the final response.
func (m *ProxyCookie) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		headerlist.ServeValues(w, r, next, &editor{cookie: m, values: proxyrewrite.Values(r, m.domain, m.path)})
	})
}

// editor rewrites the cookies of one response.
type editor struct {
	cookie *ProxyCookie
	values *variable.Live
}

// EditValue implements headerlist.ValueEditor.
func (e *editor) EditValue(name, value string) string {
	if name != "Set-Cookie" {
		return value
	}
	pair, attributes, more := strings.Cut(value, ";")
	key, content, assigned := part(pair)
	if !more || !assigned || slices.Contains(e.cookie.exclude, key) {
		return value
	}
	var made strings.Builder
	changed := false
	_, _ = made.WriteString(key + "=" + content)
	for attribute := range strings.SplitSeq(attributes, ";") {
		key, content, assigned := part(attribute)
		if assigned {
			rewritten, changes := e.attribute(key, content)
			content, changed = rewritten, changed || changes
		}
		_, _ = made.WriteString("; " + key)
		if assigned {
			_, _ = made.WriteString("=" + content)
		}
	}
	if !changed {
		return value
	}
	return made.String()
}

// attribute rewrites the value of an attribute.
func (e *editor) attribute(key, content string) (rewritten string, changes bool) {
	switch {
	case strings.EqualFold(key, "Domain"):
		return e.cookie.domain.Rewrite(content, e.values)
	case strings.EqualFold(key, "Path"):
		return e.cookie.path.Rewrite(content, e.values)
	}
	return content, false
}

// part splits a part of a Set-Cookie field at its equals sign, and removes the spaces around both.
func part(text string) (key, content string, assigned bool) {
	key, content, assigned = strings.Cut(text, "=")
	return strings.Trim(key, " "), strings.Trim(content, " "), assigned
}
