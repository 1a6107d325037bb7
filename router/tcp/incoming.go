package tcp

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/sluiceproxy/sluice/forward/stream"
	"github.com/sluiceproxy/sluice/router/tcp/rule"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Incoming is a connection of a client whose route is known.
type Incoming struct {
	// Conn is the connection as it was accepted, with all bytes that were read to find the route.
	Conn net.Conn
	// Connection is what the route was found by.
	rule.Connection
	// EntryPoint is the name of the entrypoint, Accepted the time at which it accepted the connection.
	EntryPoint string
	Accepted   time.Time
	// Secure is set for connections with TLS, and StartTLS for those of them that began with the SSLRequest of
	// PostgreSQL, which has been answered and is not among the bytes of Conn.
	Secure, StartTLS bool
	// Result is what the stream has served, complete when ServeStream calls done.
	Result Result
	// Handshake makes the TLS handshake of a server on Conn, within the time that the entrypoint allows.
	Handshake func(ctx context.Context, config *tls.Config) (*tls.Conn, error)
}

// Result is what became of a connection.
type Result struct {
	// EntryPoint is the name of the entrypoint or listener of the router.
	EntryPoint string
	// Router is the qualified name of the router.
	Router string
	// Result is what came of the service. Its Code and Reason say as well why the router served nothing.
	stream.Result
	// TLS is that of the client's connection where it ends here.
	TLS *tls.ConnectionState
	// Generation is that of the configuration by which the connection was routed.
	Generation uint64
	// Observe is what the outcome is recorded in.
	Observe telemetry.Observe
}

// Stream serves the connections of one route.
type Stream interface {
	// ServeStream serves the connection until it or ctx ends. It may return before that. done is called once, when all is
	// served; the connection may still be open then.
	ServeStream(ctx context.Context, in *Incoming, done func())
}
