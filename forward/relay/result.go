package relay

import "time"

// Reason says why a direction, or the whole connection, has ended.
type Reason uint8

const (
	// ClientEOF is the orderly end of what the client sends.
	ClientEOF Reason = iota + 1
	// ServerEOF is the orderly end of what the server sends.
	ServerEOF
	// ClientReset is a client that reset the connection or reads no more of it.
	ClientReset
	// ServerReset is a server that reset the connection or reads no more of it.
	ServerReset
	// IdleTimeout is [Options.IdleTimeout].
	IdleTimeout
	// TerminationDelay is [Options.TerminationDelay]: the second direction was cut.
	TerminationDelay
	// Shutdown is the end of the context, or a connection that this process has closed.
	Shutdown
	// Error is any other failure, which [Result] has as Err.
	Error
)

// String returns the reason as logs and metrics have it: client_eof and so on.
func (r Reason) String() string {
	switch r {
	case ClientEOF:
		return "client_eof"
	case ServerEOF:
		return "server_eof"
	case ClientReset:
		return "client_reset"
	case ServerReset:
		return "server_reset"
	case IdleTimeout:
		return "idle_timeout"
	case TerminationDelay:
		return "termination_delay"
	case Shutdown:
		return "shutdown"
	case Error:
		return "error"
	}
	return "none"
}

// Result is what came of a connection.
type Result struct {
	// FromClient counts the bytes of the client that were written to the server, those that were read ahead included.
	FromClient int64
	// FromServer counts the bytes of the server that were written to the client.
	FromServer int64
	// Spliced counts those of both that the kernel moved by splice(2).
	Spliced int64
	// First is what ended first.
	First Reason
	// Final is what ended the connection. After two orderly ends it is the end of the second side: First is ClientEOF
	// and Final is ServerEOF, or the other way around.
	Final Reason
	// Err is set if Final is Error.
	Err error
	// Duration is how long the connections were joined.
	Duration time.Duration
}
