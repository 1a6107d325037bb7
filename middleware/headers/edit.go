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

// edit sets a header, or removes it when the value is empty.
type edit struct {
	name  string // in net/http's canonical spelling
	value string
	nonce bool // the value has nonceMark in it
}

// nonceMark stands for a nonce that is new for each response (Content Security Policy Level 3, section 2.3.1).
const nonceMark = "$NONCE"

// nonceBytes is how long it is.
const nonceBytes = 16

// apply makes the edits. One array holds all values, fresh for each message: handlers behind may edit them in place.
// It is that of room where they have a place there.
func apply(headers http.Header, edits []edit, room []string) {
	var values []string
	if len(edits) <= cap(room) {
		values = room[:len(edits)]
	}
	nonce := ""
	for i, edit := range edits {
		switch {
		case edit.value != "":
			if values == nil {
				values = make([]string, len(edits))
			}
			values[i] = edit.value
			if edit.nonce {
				if nonce == "" {
					nonce = newNonce()
				}
				values[i] = strings.ReplaceAll(edit.value, nonceMark, nonce)
			}
			headers[edit.name] = values[i : i+1 : i+1]
		case edit.name == forwarded.XForwardedFor:
			// A nil value keeps forwarding from appending the client, too.
			headers[edit.name] = nil
		default:
			delete(headers, edit.name)
		}
	}
}

func newNonce() string {
	var random [nonceBytes]byte
	_, _ = rand.Read(random[:]) // It ends the process where the system has no randomness.
	return "'nonce-" + base64.RawStdEncoding.EncodeToString(random[:]) + "'"
}

// override returns the edits of first, without those of headers that second edits too, and then those of second.
func override(first, second []edit) []edit {
	rest := slices.DeleteFunc(slices.Clone(first), func(e edit) bool {
		return slices.ContainsFunc(second, func(other edit) bool { return other.name == e.name })
	})
	return append(rest, second...)
}

// trailing is the body of a request that may end with trailers, of which some names belong to the middleware: servers
// merge trailers into headers.
type trailing struct {
	io.ReadCloser
	request *http.Request
	names   []string
}

// Read reads, and removes the trailers when they have come.
func (t *trailing) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		forwarded.RemoveHeader(t.request.Trailer, t.names...)
	}
	return n, err
}
