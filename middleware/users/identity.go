package users

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/sluiceproxy/sluice/forwarded"
)

// Identity is how a service learns the user of a request: the options headerField and removeHeader. It is an
// immutable value.
type Identity struct {
	names         []string // The header alone, in net/http's canonical spelling, or nothing.
	removesSecret bool
}

// NewIdentity checks headerField, which is the name of a header that the name of the user is put into; an empty one
// passes on nothing. A name that no header has, one of a header that frames a message or concerns one connection
// only, and Authorization are errors, which begin with the option's kind.
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

// Tell makes the request say that it is from a user, and nobody else: whatever the client sent under the header's
// name, in any spelling, in the head or behind the body, is gone, and no Connection header takes away what is set. It
// removes the credentials if so configured.
func (i Identity) Tell(r *http.Request, user string) {
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
