// Package identity tests that clients cannot forge an identity: every header by which services identify a client, a
// user or the route of a request, with every way of writing it into a request, as raw bytes of HTTP/1.1 and HTTP/2
// through the built binary. An endpoint, or an authorization server, must receive Sluice's value or none. Refusing a
// request is right if clients have no reason to send it.
package identity
