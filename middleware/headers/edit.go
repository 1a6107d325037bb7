package headers

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/forwarded"
)

// edit sets a header, or removes it if the value is empty.
type edit struct {
	name  string // in net/http's canonical spelling
	value string
	nonce bool // the value contains nonceMark
}

// nonceMark is replaced by a nonce for each response (Content Security Policy Level 3, section 2.3.1).
const nonceMark = "$NONCE"

// nonceBytes is the length of a nonce.
const nonceBytes = 16

// apply applies the edits. The values are new for each message, since handlers may modify them; they are in room if
// they fit.
func apply(headers http.Header, edits []edit, room []string) {
	var values []string
	if len(edits) <= cap(room) {
		values = room[:len(edits)]
	}
	var nonce nonce
	for i, edit := range edits {
		switch {
		case edit.value != "":
			if values == nil {
				values = make([]string, len(edits))
			}
			values[i] = nonce.in(edit)
			headers[edit.name] = values[i : i+1 : i+1]
		case edit.name == forwarded.XForwardedFor:
			// A nil value also keeps forwarding from appending the client.
			headers[edit.name] = nil
		default:
			delete(headers, edit.name)
		}
	}
}

// nonce is the nonce of one response, or empty as long as there is none.
type nonce string

// in returns the value of an edit with the nonce in it.
func (n *nonce) in(e edit) string {
	if !e.nonce {
		return e.value
	}
	if *n == "" {
		*n = nonce(newNonce())
	}
	return strings.ReplaceAll(e.value, nonceMark, string(*n))
}

func newNonce() string {
	var random [nonceBytes]byte
	_, _ = rand.Read(random[:]) // ends the process if the system has no randomness
	return "'nonce-" + base64.RawStdEncoding.EncodeToString(random[:]) + "'"
}

// override returns the edits of first whose headers second does not edit, and then those of second.
func override(first, second []edit) []edit {
	rest := slices.DeleteFunc(slices.Clone(first), func(e edit) bool {
		return slices.ContainsFunc(second, func(other edit) bool { return other.name == e.name })
	})
	return append(rest, second...)
}

// trailing is a request body after which trailers with some names are removed: servers merge trailers into headers.
type trailing struct {
	io.ReadCloser
	request *http.Request
	names   []string
}

// Read removes the trailers at the end of the body.
func (t *trailing) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		forwarded.RemoveHeader(t.request.Trailer, t.names...)
	}
	return n, err
}
