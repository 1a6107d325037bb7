package users

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/sluiceproxy/sluice/canonical"
)

// Identity is what a service is told about who a request is from: the options headerField and removeHeader. It is an immutable value.
type Identity struct {
	names         []string // The header alone, in net/http's canonical spelling, or nothing.
	removesSecret bool
}

// NewIdentity checks headerField, which is the name of a header that the name of the user is put into; an empty one tells the service
// nothing. A name that no header has, one of a header that frames a message or concerns one connection only, and Authorization are
// errors, which begin with the option's kind.
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
	switch strings.ReplaceAll(name, "_", "-") {
	case "Authorization", "Connection", "Content-Length", "Host", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
		"Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade":
		return Identity{}, fmt.Errorf("%s: %s has a meaning of its own and can't hold a name", option, name)
	}
	identity.names = []string{name}
	return identity, nil
}

// Tell makes the request say that it is from a user, and nobody else: whatever the client sent under the header's name, in any spelling,
// in the head or behind the body, is gone, and no Connection header takes away what is set. It removes the credentials if so configured.
func (i Identity) Tell(r *http.Request, user string) {
	if i.removesSecret {
		canonical.RemoveHeader(r.Header, "Authorization")
	}
	if len(i.names) == 0 {
		return
	}
	canonical.RemoveHeader(r.Header, i.names...)
	i.disconnect(r.Header)
	r.Header[i.names[0]] = []string{user}
	canonical.RemoveHeader(r.Trailer, i.names...)
	// A chunked body may end with trailers that nothing announced (RFC 9110 section 6.5.1).
	if (r.Trailer != nil || r.ProtoMajor == 1 && r.ContentLength < 0) && r.Body != nil && r.Body != http.NoBody {
		r.Body = &trailing{ReadCloser: r.Body, request: r, names: i.names}
	}
}

// disconnect takes the header's name out of Connection, which an entrypoint leaves there if told so (forwardedHeaders.connection).
func (i Identity) disconnect(h http.Header) {
	lines := h["Connection"]
	if len(lines) == 0 {
		return
	}
	kept := make([]string, 0, len(lines))
	for _, line := range lines {
		tokens := slices.DeleteFunc(strings.Split(line, ","), func(token string) bool {
			return strings.EqualFold(strings.TrimSpace(token), i.names[0])
		})
		if len(tokens) > 0 {
			kept = append(kept, strings.Join(tokens, ","))
		}
	}
	if len(kept) == 0 {
		delete(h, "Connection")
		return
	}
	h["Connection"] = kept
}

// trailing is the body of a request that may end with trailers, which servers merge into headers.
type trailing struct {
	io.ReadCloser
	request *http.Request
	names   []string
}

// Read reads, and removes the trailers when they have come.
func (t *trailing) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		canonical.RemoveHeader(t.request.Trailer, t.names...)
	}
	return n, err
}
