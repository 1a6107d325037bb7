// Package entrypoint is where traffic comes in: one listener per entrypoint, and one dispatcher that looks at the first
// bytes of each connection once.
//
// In flow connections; out flow requests in their canonical form, with headers that can be believed, to one http.Handler,
// and one finished telemetry.Record per request. On the way a connection may carry a PROXY protocol header (from trusted
// peers only), then TLS, HTTP/2 with prior knowledge, or plain HTTP/1.1. Package http1 serves HTTP/1.1, on the goroutine that
// has looked at the first bytes; net/http serves HTTP/2 and nothing else. Requests that http1 refuses are recorded too. The
// package knows no route and no endpoint, writes no log line on a request's goroutine, and lets nothing that a handler left
// behind reach another request.
//
// # Time-outs
//
// respondingTimeouts.readTimeout bounds the head of a request as a whole, and after it each pause between two reads of the
// body, until the response has begun. On HTTP/1.1, also without readTimeout, a head or body that is waited for must come with at
// least 240 bytes per second on average, after five seconds of grace. So a slow upload is not cut as long as it moves, and a stream is
// never cut: not server-sent events, not gRPC, not an upgraded connection. writeTimeout bounds the whole response, streams included,
// and idleTimeout the wait for the next request; on HTTP/1.1 readTimeout does when idleTimeout is 0. The PROXY header, the TLS
// handshake and the preface of HTTP/2 in the clear have ten seconds each, or readTimeout if that is less.
//
// # Draining
//
// When the context of Serve ends, the entrypoint goes on accepting for lifeCycle.requestAcceptGraceTimeout, while Draining
// reports true. Then it takes whoever is in the system's queue, stops to listen, closes idle connections, tells HTTP/2 clients to
// go away, and lets requests and upgraded connections finish within lifeCycle.graceTimeOut. What is left after that is cut. A
// connection that has sent nothing yet is idle once it is a second old.
package entrypoint
