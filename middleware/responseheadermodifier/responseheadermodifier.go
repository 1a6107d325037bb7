// Package responseheadermodifier implements the middleware responseHeaderModifier, which removes, sets and adds headers
// of responses.
package responseheadermodifier

import (
	"net/http"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/headerlist"
)

// ResponseHeaderModifier is one configured responseHeaderModifier.
type ResponseHeaderModifier struct{ edits []headerlist.Edit }

// New validates the definition: at least one header, names are tokens of which each occurs once, values have no control
// characters. Content-Length and Transfer-Encoding can't be changed.
func New(_ string, config dynamic.ResponseHeaderModifier) (*ResponseHeaderModifier, error) {
	edits, err := headerlist.Parse("responseHeaderModifier", config.Set, config.Add, config.Remove)
	if err != nil {
		return nil, err
	}
	return &ResponseHeaderModifier{edits: edits}, nil
}

// NoRetain implements httpio.NoRetainer.
func (*ResponseHeaderModifier) NoRetain() {}

// Wrap returns a handler that calls next with a writer that edits the headers of the final response, or of the switch
// to another protocol.
func (m *ResponseHeaderModifier) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { headerlist.Serve(w, r, next, m.edits) })
}
