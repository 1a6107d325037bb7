// Package sticky names servers in cookies, so that a client comes back to the one that answered it first.
//
// In flow the options of a cookie (dynamic.Cookie) and requests; out flow the value that a client sent and the
// Set-Cookie field that it is to get. Names and values are those of Traefik v3, so that clients keep their
// server when one proxy takes the other's place: the cookie's default name comes from the service's, and its
// value from the server's URL or the name of the child service.
//
// The package never picks a server and never remembers a client: whose value it is, and whether that one may
// answer, is the caller's to know.
package sticky
