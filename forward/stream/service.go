package stream

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"

	"github.com/sluiceproxy/sluice/telemetry"
)

// Service is a destination of connections.
type Service interface {
	// Serve joins the client's connection with one to an endpoint, and returns when it has ended. It closes the client's
	// connection.
	Serve(ctx context.Context, client *Client) Result
	// Up reports whether an endpoint may take connections.
	Up() bool
}

// Client is a connection of a client.
type Client struct {
	// Conn is the connection: a [tls.Conn] where TLS ends here.
	Conn net.Conn
	// Address is the client's, for strategies that keep a client on one endpoint.
	Address netip.Addr
	// ServerName is the SNI and Protocols the names in ALPN of the client, in its order; empty without TLS.
	ServerName string
	Protocols  []string
	// TLS is the state of the client's TLS where that ends here, otherwise nil.
	TLS *tls.ConnectionState
	// Preamble is sent to the endpoint before the bytes of the client; nil for none.
	Preamble *Preamble
}

// Preamble is a request that the client has sent and that was answered to it, for an endpoint that has to see it too.
type Preamble struct {
	// Request is sent to the endpoint, after the PROXY header.
	Request []byte
	// Answer is what the endpoint must answer, and what is not passed on.
	Answer []byte
}

// Result is what became of a connection.
type Result struct {
	// Service is the qualified name of the load balancer, Endpoint the address of the server; empty where it did not get
	// so far.
	Service, Endpoint string
	// Attempts counts the endpoints that were dialled.
	Attempts int
	// FromClient and FromServer count the bytes that were passed on.
	FromClient, FromServer int64
	// End says why the joined connections ended, as [relay.Reason] has it; empty where no endpoint was connected to.
	End string
	// Code is the stable name of why Sluice itself ended the connection, and Reason the cause in words; empty otherwise.
	Code   telemetry.Code
	Reason string
}
