package wire

// Error is why a message is refused. Its text contains no bytes of the peer.
type Error struct {
	// Status is what a server answers.
	Status int
	// Reason completes "the message has ...".
	Reason string
	// Section is where the rule is written down.
	Section string
}

// Error returns the reason and its source.
func (e *Error) Error() string { return e.Reason + " (" + e.Section + ")" }

// The reasons for which a message is refused; errors of this package are always one of them.
var (
	// ErrBareLF is a line feed without carriage return.
	ErrBareLF = &Error{400, "bare line feed", "RFC 9112, section 2.2"}
	// ErrBareCR is a carriage return without line feed.
	ErrBareCR = &Error{400, "bare carriage return", "RFC 9112, section 2.2"}
	// ErrRequestLine is a request line without its three parts.
	ErrRequestLine = &Error{400, "invalid request line", "RFC 9112, section 3"}
	// ErrMethod is a method that is not a token.
	ErrMethod = &Error{400, "invalid method", "RFC 9110, section 9.1"}
	// ErrTarget is a request target in none of the four forms.
	ErrTarget = &Error{400, "invalid request target", "RFC 9112, section 3.2"}
	// ErrUserinfo is a user name before the host.
	ErrUserinfo = &Error{400, "user information in the authority", "RFC 9110, section 4.2.4"}
	// ErrVersion is something else than HTTP/ and two digits.
	ErrVersion = &Error{400, "invalid protocol version", "RFC 9112, section 2.3"}
	// ErrMajor is another version than HTTP/1.
	ErrMajor = &Error{505, "unsupported protocol version", "RFC 9110, section 15.6.6"}
	// ErrLineTooLong is a request line beyond the limit of the head.
	ErrLineTooLong = &Error{414, "request line too long", "RFC 9112, section 3"}
	// ErrHeadTooLarge is a head beyond the limit of bytes.
	ErrHeadTooLarge = &Error{431, "header too large", "RFC 6585, section 5"}
	// ErrTooManyFields is a head beyond the limit of fields.
	ErrTooManyFields = &Error{431, "too many header fields", "RFC 6585, section 5"}
	// ErrNoHost is an HTTP/1.1 request without Host.
	ErrNoHost = &Error{400, "missing Host", "RFC 9112, section 3.2"}
	// ErrHosts is a request with more than one Host.
	ErrHosts = &Error{400, "repeated Host", "RFC 9112, section 3.2"}
	// ErrHost is a host that is neither a name nor an address in brackets, or whose port is none.
	ErrHost = &Error{400, "invalid Host", "RFC 9112, section 3.2"}
	// ErrFold is a line that continues the one before it, or a space before the first.
	ErrFold = &Error{400, "folded line", "RFC 9112, section 5.2"}
	// ErrSpaceBeforeColon is a space between the name of a field and its colon.
	ErrSpaceBeforeColon = &Error{400, "space before a colon", "RFC 9112, section 5.1"}
	// ErrName is a field whose name is not a token, or that has no colon.
	ErrName = &Error{400, "invalid field name", "RFC 9110, section 5.1"}
	// ErrValue is a control character in a value.
	ErrValue = &Error{400, "control character in a field value", "RFC 9110, section 5.5"}
	// ErrLength is a Content-Length that is not one number in decimal digits.
	ErrLength = &Error{400, "invalid Content-Length", "RFC 9112, section 6.3"}
	// ErrLengths is more than one Content-Length.
	ErrLengths = &Error{400, "repeated Content-Length", "RFC 9112, section 6.3"}
	// ErrLengthAndEncoding is a Content-Length beside a Transfer-Encoding.
	ErrLengthAndEncoding = &Error{400, "Content-Length and Transfer-Encoding", "RFC 9112, section 6.3"}
	// ErrEncoding is a Transfer-Encoding other than one "chunked". RFC 9112 would have 501 for codings that exist, but
	// only disguises of "chunked" are seen, and one answer to all of them does not reveal which disguise is nearly
	// understood.
	ErrEncoding = &Error{400, "unsupported Transfer-Encoding", "RFC 9112, section 6.1"}
	// ErrEncodingVersion is a Transfer-Encoding in HTTP/1.0.
	ErrEncodingVersion = &Error{400, "Transfer-Encoding in HTTP/1.0", "RFC 9112, section 6.1"}
	// ErrTrailerName is a Trailer that announces a field which frames the message.
	ErrTrailerName = &Error{400, "invalid Trailer", "RFC 9110, section 6.5.1"}
	// ErrChunkSize is a chunk whose size is not a hexadecimal number, or too large.
	ErrChunkSize = &Error{400, "invalid chunk size", "RFC 9112, section 7.1"}
	// ErrChunkExtension is an extension with a control character, or too many bytes of them.
	ErrChunkExtension = &Error{400, "invalid or too long chunk extension", "RFC 9112, section 7.1.1"}
	// ErrChunkEnd is chunk data that is not followed by CR LF.
	ErrChunkEnd = &Error{400, "chunk longer than its size", "RFC 9112, section 7.1"}
	// ErrTrailerTooLarge is a trailer section beyond the limit of bytes or fields.
	ErrTrailerTooLarge = &Error{431, "trailer section too large", "RFC 6585, section 5"}
	// ErrStatusLine is a response that begins with something else than version, status and reason.
	ErrStatusLine = &Error{502, "invalid status line", "RFC 9112, section 4"}
)
