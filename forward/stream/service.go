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
	// Serve joins the client's connection with one to an endpoint until one of them or ctx ends. It may return before
	// that. done is called once, when both are closed and the result is complete.
	Serve(ctx context.Context, client *Client, result *Result, done func())
	// Up reports whether an endpoint may take connections. It takes no lock and does not allocate.
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
	// FromClient and FromServer count the bytes that were passed on, without TLS where it ends here.
	FromClient, FromServer int64
	// End says why the joined connections ended, as [relay.Reason] has it: client_eof or server_eof where both directions
	// ended in order, the former for a client that was the first. Where no endpoint was connected to it is empty, or
	// shutdown if the context has ended.
	End string
	// Code is the stable name of why no endpoint was connected to; empty otherwise. Reason is the cause in words, of that
	// or of an end that End does not explain.
	Code   telemetry.Code
	Reason string
}
