// Package server is the server side of HTTP/2 (RFC 9113) with the types of net/http: it turns connections that were
// accepted elsewhere into calls of an http.Handler. It has no routes, no configuration and no log, and what it refuses
// it does not repair.
//
// [Server] reads each connection on the goroutine that calls [Server.ServeConn]. A complete head becomes an exchange,
// the http.Request with its response, whose handler runs on a goroutine of the server that is kept for others. No
// goroutine schedules streams: frames are appended to the connection's buffer under its lock, and the first goroutine
// to do so writes the buffer, with what others have added meanwhile, in one call of Write. Response and request bodies
// wait for the windows of RFC 9113, section 5.2; responses in the order of RFC 9218.
//
// An exchange is dead for ever once its handler has returned: calls that come later fail with [serving.ErrFinished] and
// reach no other request. Only where the handler says that no part of it is kept (Recycle, a method of the writer) it
// serves another request.
//
// # Limits
//
// A client is bounded in streams, in the size and number of fields, in the memory of decoded heads ([Server]), in the
// bytes of bodies that wait to be read (64 KiB for each connection, and more within MaxWindowBytes), and in
// frames that cost it less than the server: see flood.go. One that exceeds
// a limit gets GOAWAY with ENHANCE_YOUR_CALM.
//
// # Time-outs
//
// ReadTimeout bounds each pause between two reads of a body, and MinRate how slow a body may be on the whole, until the
// response has begun; requests of gRPC are exempt, except where only the end of the body is awaited. WriteTimeout
// bounds a whole response, IdleTimeout the time without a stream, OpeningTimeout the preface. A client that accepts no
// byte for a minute, or does not answer PING, is cut.
package server
