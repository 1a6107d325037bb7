package client

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
)

var (
	errRoundTripUsed     = errors.New("http1: a RoundTrip serves one request")
	errConnect           = errors.New("http1: CONNECT is for tunnels, which are not forwarded")
	errMethod            = errors.New("http1: invalid method")
	errEncoding          = errors.New("http1: request with a Transfer-Encoding other than chunked")
	errFieldName         = errors.New("http1: invalid name of a request's field")
	errBodyShort         = errors.New("http1: the request's body ended before its Content-Length")
	errUnexpectedUpgrade = errors.New("101 to a request without Upgrade")
	errSwitchEarly       = errors.New("101 before the request was sent")
	errChanged           = errors.New("the endpoint changed to HTTP/2 while the request was sent")
	errInterim           = errors.New("too many informational responses")
	errHeadTimeout       = &timeoutError{"time-out awaiting the response's head"}
	errNothingYet        = &timeoutError{"nothing to read yet"}
	errUpstreamClosed    = errors.New("the connections to the endpoint were closed")
	errServerClosed      = errors.New("the endpoint closed the connection without a response")
)

// timeoutError is a net.Error for a time that is over.
type timeoutError struct{ text string }

// Error returns what was waited for.
func (e *timeoutError) Error() string { return e.text }

// Timeout returns true.
func (e *timeoutError) Timeout() bool { return true }

// Temporary returns true, so that TLS goes on after it.
func (e *timeoutError) Temporary() bool { return true }

// Is makes the error one of os.ErrDeadlineExceeded.
func (e *timeoutError) Is(target error) bool { return target == os.ErrDeadlineExceeded }

// DestinationError is an error of the writer that a response's body was written to by its WriteTo. Any other error of
// WriteTo is the endpoint's.
type DestinationError struct {
	// Err is what the writer said.
	Err error
}

// Error returns what the writer said.
func (e *DestinationError) Error() string { return e.Err.Error() }

// Unwrap returns what the writer said.
func (e *DestinationError) Unwrap() error { return e.Err }

// RequestError is about a request that can't be sent, since it would have no meaning or more than one. Nothing
// was sent, and no connection was used.
type RequestError struct {
	// Err says what is wrong.
	Err error
}

// Error says what is wrong.
func (e *RequestError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong.
func (e *RequestError) Unwrap() error { return e.Err }

// RequestBodyError is an error of the request's body, which could not be sent because it could not be read.
type RequestBodyError struct {
	// Err is what reading said.
	Err error
}

// Error returns what reading said.
func (e *RequestBodyError) Error() string { return "reading the request's body: " + e.Err.Error() }

// Unwrap returns what reading said.
func (e *RequestBodyError) Unwrap() error { return e.Err }

func invalidField(name string) error {
	return fmt.Errorf("http1: invalid value of the request's field %q", name)
}

// isTimeout reports whether err is about a time that is over.
func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

// truncated says of the end of a connection that it came too early.
func truncated(err error) error {
	if err == io.EOF { //nolint:errorlint // io.EOF is never wrapped
		return io.ErrUnexpectedEOF
	}
	return err
}
