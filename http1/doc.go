// Package http1 owns both ends of HTTP/1.1 (RFC 9112), with the types of net/http: a server half that turns connections
// into calls of an http.Handler, and a client half that turns requests into exchanges with an upstream.
//
// It gets connections that were accepted elsewhere or that the client half has dialled, and reads requests and
// responses with exactly one meaning. The package knows no route, no configuration and no log, decides nothing about
// headers beyond those of the connection, and repairs nothing: what package wire refuses is refused.
//
// # The server half
//
// [Server] serves each connection on the goroutine that calls [Server.ServeConn]. A request costs no goroutine and no
// timer: the handler runs on that goroutine, reads the body on demand, and writes into a recycled buffer that goes out
// in one write when the answer is small. While a connection is idle it holds no buffer.
//
// Each request gets one exchange: the http.Request, its URL, body and writer in one allocation. It is dead for ever
// once the handler has returned: calls that come later fail with [ErrFinished] and reach no other request. Only where
// the handler says that no part of it is kept (Recycle, a method of the writer) it serves another request. The context
// is always fresh.
//
// The request's context ends within milliseconds after the client has left, also behind pipelined bytes: on Linux one
// epoll set holds all connections. A client that only closes its side has left once the body has been handed over.
// Elsewhere, and on connections without a descriptor, a byte is read ahead as soon as the end of the context is waited
// for and the body has been read.
//
// # Time-outs of the server half
//
// ReadTimeout bounds the head of a request as a whole, and after it each pause between two reads of the body, until the
// response has begun. MinRate bounds how slow a head or body may be on the whole, until the response has begun: a
// stream that is quiet is never cut. WriteTimeout bounds the whole response, IdleTimeout the wait for the next request.
// A handler that sets deadlines of its own, with http.ResponseController, sets these aside for its request.
//
// # Where the server half differs from net/http
//
// The table of differences, with an RFC section or CVE each, is the one that the differential test reads; see
// differences_test.go.
//
// # The client half
//
// A [Client] makes an [Upstream] for each endpoint, which keeps idle connections, newest first. [Upstream.Do] writes
// the request and reads the head of the response on the goroutine of its caller; the caller reads the body. Only what
// has not come yet of a request's body is sent by a goroutine of its own, so that neither end waits for the other, and
// it is joined before the exchange ends. The [RoundTrip] is the one fresh allocation of an exchange: request state,
// response and body are parts of it.
//
// An idle connection is looked at before it is used: one that was closed, or on which unrequested bytes came, is
// closed. On Linux one epoll set reports those that endpoints close, so that their descriptors are closed soon. Where
// the client half differs from net/http is written at [Upstream.Do], and in client_differential_test.go, reason by
// reason.
package http1
