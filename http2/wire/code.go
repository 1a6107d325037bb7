package wire

import "strconv"

// Code is why a stream or a connection ends (RFC 9113, section 7).
type Code uint32

// The codes of RFC 9113, section 7.
const (
	NoError            Code = 0x0
	ProtocolError      Code = 0x1
	InternalError      Code = 0x2
	FlowControlError   Code = 0x3
	SettingsTimeout    Code = 0x4
	StreamClosed       Code = 0x5
	FrameSizeError     Code = 0x6
	RefusedStream      Code = 0x7
	Cancel             Code = 0x8
	CompressionError   Code = 0x9
	ConnectError       Code = 0xa
	EnhanceYourCalm    Code = 0xb
	InadequateSecurity Code = 0xc
	HTTP11Required     Code = 0xd
)

// String returns the name of the code as RFC 9113 has it, or its number in hexadecimal form.
func (c Code) String() string {
	switch c {
	case NoError:
		return "NO_ERROR"
	case ProtocolError:
		return "PROTOCOL_ERROR"
	case InternalError:
		return "INTERNAL_ERROR"
	case FlowControlError:
		return "FLOW_CONTROL_ERROR"
	case SettingsTimeout:
		return "SETTINGS_TIMEOUT"
	case StreamClosed:
		return "STREAM_CLOSED"
	case FrameSizeError:
		return "FRAME_SIZE_ERROR"
	case RefusedStream:
		return "REFUSED_STREAM"
	case Cancel:
		return "CANCEL"
	case CompressionError:
		return "COMPRESSION_ERROR"
	case ConnectError:
		return "CONNECT_ERROR"
	case EnhanceYourCalm:
		return "ENHANCE_YOUR_CALM"
	case InadequateSecurity:
		return "INADEQUATE_SECURITY"
	case HTTP11Required:
		return "HTTP_1_1_REQUIRED"
	}
	return "0x" + strconv.FormatUint(uint64(c), 16)
}

// Error is what is wrong with what a peer has sent. It concerns the connection, or with a Stream only that.
type Error struct {
	Code Code
	// Stream is the identifier of the stream, or 0 for the connection.
	Stream uint32
	// Reason says what was sent, with the section of RFC 9113 unless another is named.
	Reason string
}

// Error returns the code and the reason.
func (e *Error) Error() string {
	if e.Stream != 0 {
		return "http2: stream " + strconv.FormatUint(uint64(e.Stream), 10) + ": " + e.Code.String() + ": " + e.Reason
	}
	return "http2: " + e.Code.String() + ": " + e.Reason
}

// Fault returns an error of the connection.
func Fault(code Code, reason string) *Error { return &Error{Code: code, Reason: reason} }

// StreamFault returns an error of one stream.
func StreamFault(stream uint32, code Code, reason string) *Error {
	return &Error{Code: code, Stream: stream, Reason: reason}
}
