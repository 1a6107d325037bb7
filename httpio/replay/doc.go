// Package replay buffers request bodies so that they can be sent again.
//
// A [Body] is the request body of a client for all attempts at a request. Each attempt reads it from the beginning
// with a [Reader]: first what is buffered, then from the client. Nothing is read ahead of the attempt, unless
// [Body.Fill] reads all of it. What exceeds the limit is not buffered, and the Body cannot be replayed then. A [Spool]
// holds the bytes, in memory that a [Memory] bounds and recycles, and beyond a threshold in a temporary file.
//
// The package never closes the client's body, which belongs to the server, and never returns a byte after
// [Body.Release].
package replay

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
)

var (
	// ErrClosed is returned by a Reader after its Close, and for bytes that are no longer buffered.
	ErrClosed = errors.New("the request body is closed")
	// ErrTooLarge is returned when a body exceeds the limit of a Spool.
	ErrTooLarge = errors.New("larger than the limit")

	errMemory = errors.New("no memory is left for bodies")
)

// StatusClientClosedRequest is recorded for a client that left before the response began. It is never sent.
const StatusClientClosedRequest = 499

// Status returns the response status for a request whose body can't be read because of an error: 413, 408, 400, 504
// for the deadline of the request, or StatusClientClosedRequest.
func Status(err error) int {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return http.StatusRequestEntityTooLarge
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return http.StatusGatewayTimeout
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() || errors.Is(err, os.ErrDeadlineExceeded) {
		return http.StatusRequestTimeout
	}
	if _, ok := errors.AsType[*net.OpError](err); ok || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, context.Canceled) {
		return StatusClientClosedRequest
	}
	return http.StatusBadRequest
}
