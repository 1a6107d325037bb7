// Package requestheadermodifier implements the middleware requestHeaderModifier, which removes, sets and adds headers
// of requests.
package requestheadermodifier

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/headerlist"
)

// RequestHeaderModifier is one configured requestHeaderModifier.
type RequestHeaderModifier struct {
	edits []headerlist.Edit
	names []string // of the headers that are set or removed
	host  string   // empty keeps the client's
}

// New validates the definition: at least one header, names are tokens of which each occurs once, values have no control
// characters. Host can be set, but neither added nor removed; Content-Length and Transfer-Encoding can't be changed.
func New(_ string, config dynamic.RequestHeaderModifier) (*RequestHeaderModifier, error) {
	edits, err := headerlist.Parse("requestHeaderModifier", config.Set, config.Add, config.Remove)
	if err != nil {
		return nil, err
	}
	m := &RequestHeaderModifier{edits: edits}
	if at := slices.IndexFunc(edits, func(e headerlist.Edit) bool { return e.Name == "Host" }); at >= 0 {
		host := edits[at]
		if host.Kind != headerlist.Set {
			return nil, errors.New("requestHeaderModifier: Host can be set, but neither added nor removed")
		}
		if _, ok := canonical.Host(host.Value); !ok {
			return nil, fmt.Errorf("requestHeaderModifier.set: Host %q is not a host", host.Value)
		}
		m.host, m.edits = host.Value, slices.Delete(edits, at, at+1)
	}
	m.names = headerlist.Names(m.edits)
	return m, nil
}

// NoRetain implements httpio.NoRetainer.
func (*RequestHeaderModifier) NoRetain() {}

// RewritesTarget implements middleware.TargetRewriter.
func (*RequestHeaderModifier) RewritesTarget() {}

// Wrap returns a handler that edits the request's headers and calls next.
func (m *RequestHeaderModifier) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if m.host != "" {
			r.Host = m.host
		}
		headerlist.EditRequest(r, m.edits, m.names)
		next.ServeHTTP(w, r)
	})
}
