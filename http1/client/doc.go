// Package client is the client side of HTTP/1.1 (RFC 9112) with the types of net/http: it turns requests into exchanges
// with an endpoint.
//
// It reads responses with exactly one meaning. It has no configuration and no log, changes no headers but those
// of the connection, and repairs nothing: what package wire refuses is refused.
//
// An [Upstream] is made for each endpoint and keeps idle connections, newest first. [Upstream.Do] writes the request
// and reads the head of the response on the goroutine of its caller; the caller reads the body. Only what has not come
// yet of a request's body is sent by a goroutine of its own, so that neither end waits for the other, and it is joined
// before the exchange ends. The [RoundTrip] is the one fresh allocation of an exchange: request state, response and
// body are parts of it.
//
// An idle connection is looked at before it is used: one that was closed, or on which unrequested bytes came, is
// closed. On Linux one epoll set reports those that endpoints close, so that their descriptors are closed soon.
// Differences from net/http are described at [Upstream.Do], and in differential_test.go, reason by reason.
package client
