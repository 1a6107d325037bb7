package client

import (
	"errors"
	"fmt"

	"github.com/sluiceproxy/sluice/http2/wire"
)

var (
	errConnect        = errors.New("http2: CONNECT is for tunnels, which are not forwarded")
	errMethod         = errors.New("http2: invalid method")
	errFieldName      = errors.New("http2: invalid name of a request's field")
	errBodyShort      = errors.New("http2: the request's body ended before its Content-Length")
	errBodyLong       = errors.New("http2: the request's body is longer than its Content-Length")
	errHeadTooLarge   = errors.New("http2: the request's head is larger than the endpoint accepts")
	errUpstreamClosed = errors.New("the connections to the endpoint were closed")
	errServerClosed   = errors.New("the endpoint closed the connection without a response")
	errInterim        = errors.New("too many informational responses")
	errIdle           = errors.New("http2: the connection was idle for too long")
	errProtocol       = errors.New("http2: the endpoint no longer agrees on HTTP/2, and the request's body was read")
	errNoStreams      = errors.New("http2: the endpoint allows no streams")
	errRetired        = errors.New("http2: the endpoint has closed the connection by GOAWAY")
	errNoPong         = &timeoutError{"the endpoint does not answer PING"}
	errHeadTimeout    = &timeoutError{"time-out awaiting the response's head"}
	// errFull is a connection that took other requests meanwhile, or ended. Nothing was sent.
	errFull = errors.New("http2: the connection takes no more requests")
	// errFinished is the end of an upload that the exchange no longer needs.
	errFinished = errors.New("http2: the exchange has ended")
)

// timeoutError is a net.Error for a time that is over.
type timeoutError struct{ text string }

// Error returns what was waited for.
func (e *timeoutError) Error() string { return e.text }

// Timeout returns true.
func (e *timeoutError) Timeout() bool { return true }

// Temporary returns true.
func (e *timeoutError) Temporary() bool { return true }

// ResetError is a stream that the endpoint has reset.
type ResetError struct {
	// Code is that of RST_STREAM.
	Code wire.Code
}

// Error names the code.
func (e *ResetError) Error() string { return "the endpoint has reset the stream: " + e.Code.String() }

// GoAwayError is a stream that the endpoint has not processed when it sent GOAWAY.
type GoAwayError struct {
	// Code is that of GOAWAY.
	Code wire.Code
}

// Error names the code.
func (e *GoAwayError) Error() string { return "the endpoint has sent GOAWAY: " + e.Code.String() }

// lostError is a connection that ended before its streams did.
type lostError struct{ err error }

// Error names the cause.
func (e *lostError) Error() string { return "reading the response: " + e.err.Error() }

// Unwrap returns the cause.
func (e *lostError) Unwrap() error { return e.err }

// Malformed reports whether an error is a response, or a connection, that breaks the protocol.
func Malformed(err error) bool {
	_, is := errors.AsType[*wire.Error](err)
	return is
}

// unprocessed reports whether an error says that the endpoint has not processed the request (RFC 9113, section 8.7).
func unprocessed(err error) bool {
	if err == errFull { //nolint:errorlint // It is not wrapped.
		return true
	}
	if reset, ok := errors.AsType[*ResetError](err); ok {
		return reset.Code == wire.RefusedStream
	}
	_, away := errors.AsType[*GoAwayError](err)
	return away
}

func invalidField(name string) error {
	return fmt.Errorf("http2: invalid value of the request's field %q", name)
}
