// Package entrypoint accepts traffic: an [Entrypoint] listens on one address, finds out what protocol each connection
// speaks, and hands the connection to the [ConnServer] of that protocol.
//
// A connection may begin with a PROXY protocol header (from trusted peers only), then TLS, then HTTP/1.1 or HTTP/2.
// Package http1 serves HTTP/1.1 on the goroutine that has read the first bytes, package http2 serves HTTP/2, and
// package h3 serves HTTP/3 on the UDP port of the same number, whose connections count as those over TCP. Requests of
// all pass the rules of the entrypoint (limits, canonical form, forwarded headers) and reach one http.Handler; each
// ends with one telemetry.Record, which the sinks get, also when the server has refused the request. The package has
// no routes and no endpoints.
//
// Connections of TCP routers never reach that handler: [Streams] is consulted at each stage of what is known of a
// connection (nothing read, first bytes, ClientHello, SSLRequest of PostgreSQL; package router/tcp has the order), and
// the tcp.Stream that it returns serves the connection and calls back when it has ended.
//
// A [PacketEntrypoint] listens on an address of UDP, and hands its sockets to a [PacketServer]: on Linux there is one
// for each processor that Go uses, among which the kernel divides the clients (SO_REUSEPORT).
//
// # Limits
//
// transport.limits bounds the number of open connections and the rate of new ones, in total and for each client, over
// TCP and QUIC together. A client is an IPv4 address or a /64 of IPv6. What is over a limit is closed: before a byte is
// read, or behind the PROXY header that names the client. Over QUIC a client has to prove its address first where a
// rate is limited. A request over the rate of requests is answered 429 before anything else is looked at.
//
// # Time-outs
//
// respondingTimeouts.readTimeout bounds the head of a request of HTTP/1.1 as a whole, and each pause between two reads
// of a body, until the response has begun. Also without readTimeout, a head (HTTP/1.1) or a body that is waited for
// must come with at least 240 bytes per second on average, after five seconds of grace; requests of gRPC over HTTP/2
// are exempt from both bounds. After the response has begun, a client may be silent, so that streams are not cut.
// writeTimeout bounds the whole response, streams included, and idleTimeout the wait for the next request; on HTTP/1.1,
// readTimeout applies when idleTimeout is 0. The PROXY header, the TLS handshake and the preface of HTTP/2 have ten
// seconds each, or readTimeout if that is less. A client of HTTP/2 that accepts no byte for a minute, or does not
// answer PING, is cut. With HTTP/3 the head has no time-out of its own: a connection ends when no request has reached
// its handler for idleTimeout, and also when no packet has come for so long.
//
// # Draining
//
// When the context of Serve ends, the entrypoint goes on accepting for lifeCycle.requestAcceptGraceTimeout, while
// Draining reports true. With the cause [ErrWithdrawn] there is no such grace time. Then it takes the connections in
// the queue of the system, stops listening, closes idle connections, sends GOAWAY to clients of HTTP/2 and HTTP/3, and
// lets requests and upgraded connections finish within lifeCycle.graceTimeOut. What is left after that is cut,
// connections of TCP routers by the end of their context, and those are reported before Serve returns. A connection
// that has sent nothing yet is idle once it is a second old.
//
// The cause [ErrHandedOver] is that of an address that another process serves from now on, with a duplicate of the
// socket. Before, Park has stopped the accept loop, so that Unpark can go on if the other process fails.
//
// A PacketEntrypoint goes on as before for lifeCycle.requestAcceptGraceTimeout, with the same exception, then takes no
// new sessions, and lets those that there are go on within lifeCycle.graceTimeOut.
package entrypoint
