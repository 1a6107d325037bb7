package server

import (
	"errors"
	"os"

	"github.com/sluiceproxy/sluice/http2/wire"
)

// Cause says why a connection has ended by a fault of its client. The causes from CauseResets to CauseRefused are the
// kinds of frames of which there were too many: see package flood.
type Cause uint8

// The causes.
const (
	// CauseNone is no fault of the client.
	CauseNone Cause = iota
	// CauseResets is RST_STREAM by either side, and frames on streams that were reset.
	CauseResets
	// CausePing is PING and its answers.
	CausePing
	// CauseSettings is SETTINGS and their acknowledgements.
	CauseSettings
	// CausePriority is PRIORITY and PRIORITY_UPDATE.
	CausePriority
	// CauseWindowUpdate is WINDOW_UPDATE of few bytes.
	CauseWindowUpdate
	// CauseEmpty is DATA without bytes, or with more padding than bytes.
	CauseEmpty
	// CauseContinuation is CONTINUATION.
	CauseContinuation
	// CauseUnknown is frames of types that are ignored, and GOAWAY.
	CauseUnknown
	// CauseRefused is requests that are refused without the handler.
	CauseRefused
	// CauseHeaderList is a head that is larger than any may be, or heads that take too much memory together.
	CauseHeaderList
	// CauseProtocol is an error of the protocol, of compression or of flow control.
	CauseProtocol
	// CauseOpening is a client that did not send the preface in time.
	CauseOpening
	// CausePingTimeout is a client that did not answer PING.
	CausePingTimeout
	// CauseWriteTimeout is a client that accepted no byte for too long.
	CauseWriteTimeout
	// Causes is how many there are.
	Causes
)

// String returns the name of the cause in metrics.
func (c Cause) String() string {
	return [Causes]string{
		"none", "resets", "ping", "settings", "priority", "window_update", "empty_data", "continuation", "unknown_frames",
		"refused_requests", "header_list", "protocol", "opening_timeout", "ping_timeout", "write_timeout",
	}[c]
}

// Failure is the end of a connection by a fault of its client.
type Failure struct {
	Cause Cause
	// Code is that of GOAWAY. It is [wire.NoError] where none was sent.
	Code wire.Code
	// Reason is for a log.
	Reason string
}

// failure returns why the connection has ended, by the error of the reader. The cause is CauseNone where the client is
// not to blame.
func (c *serverConn) failure(err error) Failure {
	if fault, ok := errors.AsType[*wire.Error](err); ok {
		f := Failure{Cause: c.cause, Code: fault.Code, Reason: fault.Reason}
		switch {
		case fault.Code == wire.NoError:
			f.Cause = CauseNone
		case f.Cause == CauseNone:
			f.Cause = CauseProtocol
		}
		return f
	}
	c.mutex.Lock()
	writing := c.out.err
	c.mutex.Unlock()
	switch {
	case errors.Is(writing, os.ErrDeadlineExceeded):
		return Failure{Cause: CauseWriteTimeout, Reason: "the client accepts no byte"}
	case err == errNoPreface: //nolint:errorlint // As tick returns it.
		return Failure{Cause: CauseOpening, Reason: err.Error()}
	case err == errNoPong: //nolint:errorlint // as above
		return Failure{Cause: CausePingTimeout, Reason: err.Error()}
	}
	return Failure{}
}
