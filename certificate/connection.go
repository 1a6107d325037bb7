package certificate

import "context"

// Connection is what is remembered of a connection's TLS handshake for as long as the connection lives.
// It does not change after the handshake.
type Connection struct {
	// Fingerprint is that of the Options under which the client was accepted.
	Fingerprint uint64
	// ServerName is the SNI of the ClientHello in lower case; empty when the client sent none.
	ServerName string
}

type connectionKey struct{}

// WithConnection returns a context that carries the connection's memory of its handshake.
func WithConnection(ctx context.Context, connection *Connection) context.Context {
	return context.WithValue(ctx, connectionKey{}, connection)
}

// ConnectionFrom returns the memory of the handshake of the request's connection; nil when the client does not speak TLS.
func ConnectionFrom(ctx context.Context) *Connection {
	connection, _ := ctx.Value(connectionKey{}).(*Connection)
	return connection
}
