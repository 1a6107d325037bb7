// Package server is the server side of HTTP/1.1 (RFC 9112) with the types of net/http: it turns connections that were
// accepted elsewhere into calls of an http.Handler.
//
// It reads requests with exactly one meaning. It has no routes, no configuration and no log, changes no headers
// but those of the connection, and repairs nothing: what package wire refuses is refused.
//
// [Server] serves each connection on the goroutine that calls [Server.ServeConn]. A request costs no goroutine and no
// timer: the handler runs on that goroutine, reads the body on demand, and writes into a recycled buffer that goes out
// in one write when the answer is small. While a connection is idle it holds no buffer.
//
// Each request gets one exchange: the http.Request, its URL, body and writer in one allocation. It is dead for ever
// once the handler has returned: calls that come later fail with [serving.ErrFinished] and reach no other request. Only
// where the handler says that no part of it is kept (Recycle, a method of the writer) it serves another request. The
// context is always fresh.
//
// The request's context ends within milliseconds after the client has left, also behind pipelined bytes: on Linux one
// epoll set holds all connections that are older than some milliseconds. A client that only closes its side has left
// once the body has been handed over. Elsewhere, and on connections without a descriptor, a byte is read ahead as soon
// as the end of the context is waited for and the body has been read.
//
// # Time-outs
//
// ReadTimeout bounds the head of a request as a whole, and after it each pause between two reads of the body, until the
// response has begun. MinRate bounds how slow a head or body may be on the whole, until the response has begun: a
// stream that is quiet is never cut. WriteTimeout bounds the whole response, IdleTimeout the wait for the next request.
// A handler that sets deadlines of its own, with http.ResponseController, sets these aside for its request.
//
// # Differences from net/http
//
// The table of differences, with an RFC section or CVE each, is the one that the differential test reads; see
// differences_table_test.go.
package server
