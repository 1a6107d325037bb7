package users

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/sluiceproxy/sluice/forwarded"
)

// Identity passes the user of a request to the service: the options headerField and removeHeader. It is an immutable
// value.
type Identity struct {
	names         []string // the header's canonical name, or nothing
	removesSecret bool
}

// NewIdentity validates headerField, the header for the name of the user; empty disables it. Invalid names, hop-by-hop
// and framing headers, and Authorization are errors, which begin with the option's kind.
func NewIdentity(kind, headerField string, removeHeader bool) (Identity, error) {
	identity := Identity{removesSecret: removeHeader}
	if headerField == "" {
		return identity, nil
	}
	option := kind + ".headerField"
	if !httpguts.ValidHeaderFieldName(headerField) {
		return Identity{}, errors.New(option + " is not the name of a header")
	}
	name := http.CanonicalHeaderKey(headerField)
	switch http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-")) {
	case "Authorization", "Connection", "Content-Length", "Expect", "Host", "Http2-Settings", "Keep-Alive",
		"Proxy-Authenticate",
		"Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade":
		return Identity{}, fmt.Errorf("%s: %s has a meaning of its own and can't hold a name", option, name)
	}
	identity.names = []string{name}
	return identity, nil
}

// Replaces returns the names of the headers that are never taken from the client of a request, or not passed on.
func (i Identity) Replaces() []string {
	if i.removesSecret {
		return append(slices.Clip(i.names), "Authorization")
	}
	return i.names
}

// Set sets the header to the user. Values of the client under the header's name, in any spelling, in the head or in
// trailers, are removed, and Connection does not name the header. The credentials are removed if configured.
func (i Identity) Set(r *http.Request, user string) {
	if i.removesSecret {
		forwarded.RemoveHeader(r.Header, "Authorization")
	}
	if len(i.names) == 0 {
		return
	}
	forwarded.RemoveHeader(r.Header, i.names...)
	r.Header[i.names[0]] = []string{user}
	forwarded.RemoveTrailers(r, i.names...)
}
