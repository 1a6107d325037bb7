// Package proxyredirect implements the middleware proxyRedirect, which changes URLs in the headers Location and Refresh
// of responses.
package proxyredirect

import (
	"errors"
	"net/http"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/headerlist"
	"github.com/sluiceproxy/sluice/middleware/proxyrewrite"
	"github.com/sluiceproxy/sluice/nginx/variable"
)

// ProxyRedirect is one configured proxyRedirect.
type ProxyRedirect struct {
	rewrites *proxyrewrite.List
	relative bool
}

// New validates the definition: there is a rewrite, and each has a from.
func New(_ string, config dynamic.ProxyRedirect) (*ProxyRedirect, error) {
	rewrites, err := proxyrewrite.Parse("proxyRedirect.rewrites", proxyrewrite.Prefix, config.Rewrites)
	if err != nil {
		return nil, err
	}
	if rewrites.Empty() {
		return nil, errors.New("proxyRedirect.rewrites is empty")
	}
	return &ProxyRedirect{rewrites: rewrites, relative: config.Relative}, nil
}

// NoRetain implements httpio.NoRetainer.
func (*ProxyRedirect) NoRetain() {}

// Wrap returns a handler that calls next with a writer that rewrites the headers of the final response.
func (m *ProxyRedirect) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e := &editor{rewrites: m.rewrites, values: proxyrewrite.Values(r, m.rewrites)}
		if !m.relative {
			e.scheme = variable.ValueOf(r, "", variable.Variable{Kind: variable.Scheme})
			e.host = variable.ValueOf(r, "", variable.Variable{Kind: variable.Host})
		}
		headerlist.ServeValues(w, r, next, e)
	})
}

// editor rewrites the headers of one response.
type editor struct {
	rewrites *proxyrewrite.List
	values   *variable.Live
	// scheme and host are put before a Location that was changed to one without them; empty leaves it.
	scheme, host string
}

// urlField begins the URL in the value of Refresh.
const urlField = "url="

// EditValue implements headerlist.ValueEditor.
func (e *editor) EditValue(name, value string) string {
	begin := 0
	switch name {
	case "Location":
	case "Refresh":
		if begin = indexFold(value, urlField); begin < 0 {
			return value
		}
		begin += len(urlField)
	default:
		return value
	}
	made, changed := e.rewrites.Rewrite(value[begin:], e.values)
	if changed && begin == 0 && e.scheme != "" && strings.HasPrefix(made, "/") {
		return e.scheme + "://" + e.host + made
	}
	return value[:begin] + made
}

// indexFold returns where a text of ASCII occurs in another one in any case, or -1.
func indexFold(text, part string) int {
	for i := range len(text) - len(part) + 1 {
		if strings.EqualFold(text[i:i+len(part)], part) {
			return i
		}
	}
	return -1
}
