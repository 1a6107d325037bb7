package h3

import (
	"errors"
	"io"
	"net"
	"os"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// Cause says why a connection ended by an error, or was refused.
type Cause uint8

// The causes.
const (
	// CauseNone is no error: an end by NO_ERROR or H3_NO_ERROR, by either side.
	CauseNone Cause = iota
	// CauseRefused is a limit on connections.
	CauseRefused
	// CauseHandshake is a TLS handshake that failed.
	CauseHandshake
	// CauseHandshakeTimeout is a handshake that took too long.
	CauseHandshakeTimeout
	// CauseIdle is a client from which no packet came for the idle time-out.
	CauseIdle
	// CauseReset is a stateless reset by the client.
	CauseReset
	// CauseTransport is an error of QUIC, by either side (RFC 9000, section 20.1).
	CauseTransport
	// CauseHTTP is an error of HTTP/3 or QPACK, by either side (RFC 9114, section 8.1).
	CauseHTTP
	// CauseExcess is a client whose requests took too much memory, or were too many at a time.
	CauseExcess
	// CauseResets is a client that reset most of its requests.
	CauseResets
	// Causes is how many there are.
	Causes
)

// String returns the name of the cause in metrics.
func (c Cause) String() string {
	return [Causes]string{
		"none", "refused", "handshake", "handshake_timeout", "idle_timeout", "stateless_reset", "transport", "http",
		"excessive_load", "resets",
	}[c]
}

// cryptoErrors are the transport errors that carry an alert of TLS (RFC 9001, section 4.8).
const (
	firstCryptoError quic.TransportErrorCode = 0x100
	lastCryptoError  quic.TransportErrorCode = 0x1ff
)

// causeOf returns the cause behind the error with which a connection has ended.
func causeOf(err error) Cause {
	if failed, ok := errors.AsType[*quic.TransportError](err); ok {
		switch {
		case failed.ErrorCode == quic.NoError:
			return CauseNone
		case failed.ErrorCode >= firstCryptoError && failed.ErrorCode <= lastCryptoError:
			return CauseHandshake
		}
		return CauseTransport
	}
	if failed, ok := errors.AsType[*quic.ApplicationError](err); ok {
		// Some clients end with 0.
		if failed.ErrorCode == 0 || failed.ErrorCode == quic.ApplicationErrorCode(http3.ErrCodeNoError) {
			return CauseNone
		}
		return CauseHTTP
	}
	if _, ok := errors.AsType[*quic.IdleTimeoutError](err); ok {
		return CauseIdle
	}
	if _, ok := errors.AsType[*quic.HandshakeTimeoutError](err); ok {
		return CauseHandshakeTimeout
	}
	if _, ok := errors.AsType[*quic.StatelessResetError](err); ok {
		return CauseReset
	}
	return CauseNone
}

// tlsError returns the error of a handshake as crypto/tls returns it on TCP.
func tlsError(err error) error {
	switch causeOf(err) {
	case CauseHandshakeTimeout, CauseIdle:
		return os.ErrDeadlineExceeded
	case CauseHandshake:
	default:
		return io.EOF
	}
	failed, _ := errors.AsType[*quic.TransportError](err)
	if failed.Remote {
		return &net.OpError{Op: "remote error", Err: failed}
	}
	for _, inner := range failed.Unwrap() {
		if inner != nil && inner != net.ErrClosed { //nolint:errorlint // The list has that value beside the cause.
			return inner
		}
	}
	return &net.OpError{Op: "local error", Err: failed}
}
