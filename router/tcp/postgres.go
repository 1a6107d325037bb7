package tcp

// The messages with which a client of PostgreSQL begins an encrypted connection (PostgreSQL's documentation, Message
// Formats and SSL Session Encryption).
const (
	// SSLRequest requests TLS: the length of the message, and a code in place of the version.
	SSLRequest = "\x00\x00\x00\x08\x04\xd2\x16\x2f"
	// GSSENCRequest requests encryption by GSSAPI.
	GSSENCRequest = "\x00\x00\x00\x08\x04\xd2\x16\x30"
	// SSLAccepted is the answer of a server that goes on with TLS.
	SSLAccepted = "S"
)
