package certificate

import (
	"context"
	"crypto/tls"
)

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

// Place is the place of a handshake among those that are computed at a time. Its methods may be called again.
type Place interface {
	// Enter waits for a place. Its error ends the handshake.
	Enter() error
	// Leave gives the place to another handshake.
	Leave()
}

type placeKey struct{}

// WithPlace returns the context of a handshake that has a place when its signature is computed, and none while a
// certificate is waited for.
func WithPlace(ctx context.Context, place Place) context.Context {
	return context.WithValue(ctx, placeKey{}, place)
}

// anyPlace is the place of handshakes without a limit.
type anyPlace struct{}

func (anyPlace) Enter() error { return nil }
func (anyPlace) Leave()       {}

// placeOf returns the place of a handshake.
func placeOf(hello *tls.ClientHelloInfo) Place {
	if place, ok := hello.Context().Value(placeKey{}).(Place); ok {
		return place
	}
	return anyPlace{}
}

// ConnectionFrom returns the handshake state of the request's connection; nil without TLS.
func ConnectionFrom(ctx context.Context) *Connection {
	connection, _ := ctx.Value(connectionKey{}).(*Connection)
	return connection
}
