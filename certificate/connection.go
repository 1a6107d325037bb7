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

type waitingKey struct{}

// WithWaiting returns a context for a handshake in which waiting is called, perhaps several times, before a certificate
// is waited for.
func WithWaiting(ctx context.Context, waiting func()) context.Context {
	return context.WithValue(ctx, waitingKey{}, waiting)
}

// Waiting is called by what provides certificates, before it waits: others use the processor meanwhile.
func Waiting(ctx context.Context) {
	if waiting, ok := ctx.Value(waitingKey{}).(func()); ok {
		waiting()
	}
}

// ConnectionFrom returns the handshake state of the request's connection; nil without TLS.
func ConnectionFrom(ctx context.Context) *Connection {
	connection, _ := ctx.Value(connectionKey{}).(*Connection)
	return connection
}
