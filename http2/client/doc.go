// Package client is the client side of HTTP/2 (RFC 9113) with the types of net/http: it turns requests into exchanges
// with an endpoint, many at a time over one connection.
//
// An [Upstream] is made for each endpoint. [Upstream.Do] appends the head of the request, and what has come of its
// body, to the frames that the connection is to send, and waits for the head of the response; the caller reads the
// body. One goroutine reads a connection. The goroutine of a request writes the frames after others that are ready have
// had a turn, so that several requests become one record of TLS and one system call; another one does where that could
// wait for the endpoint. Only what has not come yet of a request's body is sent by a goroutine of its own, as in
// http1/client.
//
// A further connection is made when those that exist have as many streams as the endpoint allows. A connection that
// ends (GOAWAY) takes no more requests; those that it did not process are sent again over another one.
//
// What a malformed response could mean is not guessed: it is an error. The fields of a connection are dropped.
package client
