// Package websocket has what a proxy knows of the opening handshake of WebSocket (RFC 6455, section 4): clients of
// HTTP/2 and HTTP/3 open one by an extended CONNECT (RFC 8441, RFC 9220), which has neither key nor answer, and
// endpoints of HTTP/1.1 are asked in their name.
package websocket

import (
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // RFC 6455 has it for recognition, not for security.
	"encoding/base64"
	"net/http"
)

// Protocol is the value of Upgrade and of :protocol.
const Protocol = "websocket"

// guid is appended to a key (RFC 6455, section 1.3).
const guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

// keyBytes is the length of a key before it is encoded.
const keyBytes = 16

// fieldValues is how many values Offer sets.
const fieldValues = 3

// Offer makes of the fields of an extended CONNECT those of a handshake of HTTP/1.1, with a new key.
func Offer(header http.Header) {
	var key [keyBytes]byte
	_, _ = rand.Read(key[:]) // It never fails.
	values := [fieldValues]string{Protocol, "Upgrade", base64.StdEncoding.EncodeToString(key[:])}
	header["Upgrade"], header["Connection"], header["Sec-Websocket-Key"] = values[:1:1], values[1:2:2], values[2:]
}

// Unopened returns the status that answers an extended CONNECT whose handler has not taken over the stream: 501 in
// place of 2xx, which would say that the tunnel is open and what follows is the WebSocket's (RFC 8441, section 4,
// RFC 9110, section 9.3.6), while it is a response to a GET.
func Unopened(status int) int {
	if status >= http.StatusOK && status < http.StatusMultipleChoices {
		return http.StatusNotImplemented
	}
	return status
}

// Accepts reports whether a response with the status 101 has the answer to the key of the request
// (RFC 6455, section 4.1).
func Accepts(request, response http.Header) bool {
	sum := sha1.Sum([]byte(request.Get("Sec-Websocket-Key") + guid)) //nolint:gosec // as above
	return response.Get("Sec-Websocket-Accept") == base64.StdEncoding.EncodeToString(sum[:])
}
