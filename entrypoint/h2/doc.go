// Package h2 serves HTTP/2 (RFC 9113) with the server of net/http, on connections that the entrypoint has opened.
//
// It adds what that server lacks: a bound on the memory of decoded request heads, and GOAWAY with ENHANCE_YOUR_CALM for
// clients that exceed it. A field that HPACK refers to by its index (RFC 7541, section 6.1) is one byte on the wire and
// kilobytes in a request, so that the size of what a client sends does not bound the size of what it makes a server
// hold.
//
// Connections with TLS come after their handshake. The server of net/http sees the bytes inside TLS only; the requests
// get the state of TLS from this package.
package h2
