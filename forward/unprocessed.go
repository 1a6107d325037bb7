package forward

import (
	"errors"
	"net"
	"strings"
)

// unprocessed reports whether an HTTP/2 endpoint said that it did nothing with a request (RFC 9113 section 8.7), which it may have seen:
// it refused the stream, or its last word on the connection was that it takes no more. Where no part of the body was sent the transport
// has asked it again by itself, so that a failed dial at the end says the same. The transport's errors can't be told apart by anything
// but their words.
func unprocessed(err error) bool {
	if operation, ok := errors.AsType[*net.OpError](err); ok && operation.Op == "dial" {
		return true
	}
	text := err.Error()
	if strings.HasPrefix(text, "http2: server sent GOAWAY") {
		// It has taken the request in before its last words, which are its own.
		return false
	}
	return strings.Contains(text, "; REFUSED_STREAM; received from peer") || strings.Contains(text, "graceful shutdown GOAWAY")
}
