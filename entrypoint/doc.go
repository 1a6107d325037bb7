// Package entrypoint is where traffic comes in: one listener per entrypoint, and one dispatcher that looks at the first
// bytes of each connection once.
//
// In flow connections; out flow requests in their canonical form, with headers that can be believed, to one http.Handler,
// and one finished telemetry.Record per request. On the way a connection may carry a PROXY protocol header (from trusted
// peers only), then TLS, HTTP/2 with prior knowledge, or plain HTTP/1.1. The package knows no route and no endpoint, writes
// no log line on a request's goroutine, and lets nothing that a handler left behind reach another request.
//
// # Time-outs
//
// respondingTimeouts.readTimeout bounds the head of a request as a whole, and after it each pause between two reads of the
// body, until the response has begun. So a slow upload is not cut as long as it moves, and a stream is never cut: not
// server-sent events, not gRPC, not an upgraded connection. writeTimeout bounds the whole response, streams included, and
// idleTimeout the wait for the next request. The PROXY header and the TLS handshake have ten seconds each, or readTimeout
// if that is less.
//
// # Draining
//
// When the context of Serve ends, the entrypoint goes on accepting for lifeCycle.requestAcceptGraceTimeout, while Draining
// reports true. Then it stops to listen, closes idle connections, tells HTTP/2 clients to go away, and lets requests and
// upgraded connections finish within lifeCycle.graceTimeOut. What is left after that is cut.
package entrypoint
