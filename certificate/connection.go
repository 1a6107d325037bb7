package certificate

import "context"

// Connection is the state of a connection's TLS handshake. It is immutable after the handshake.
type Connection struct {
	// Fingerprint is that of the Options of the handshake.
	Fingerprint uint64
	// ServerName is the SNI in lower case; empty without SNI.
	ServerName string

	// revocations are those of the handshake.
	revocations *revocations
}

type connectionKey struct{}

// WithConnection returns a context with the connection's handshake state.
func WithConnection(ctx context.Context, connection *Connection) context.Context {
	return context.WithValue(ctx, connectionKey{}, connection)
}

// ConnectionFrom returns the handshake state of the request's connection; nil without TLS.
func ConnectionFrom(ctx context.Context) *Connection {
	connection, _ := ctx.Value(connectionKey{}).(*Connection)
	return connection
}
