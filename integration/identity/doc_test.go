// Package identity tests that no client can say who it is: each header by which services know a client, a user or a
// request's way, whoever sets it, against every way of writing it into a request, through the built binary.
//
// In flow raw bytes of HTTP/1.1 and HTTP/2; out flows what an endpoint, and a server that is asked about requests, saw.
// What arrives must be what Sluice says, or nothing at all; that a request is refused is always right when no client
// has reason to send it.
package identity
