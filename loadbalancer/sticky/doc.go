// Package sticky encodes servers in cookies, so that a client returns to the one that served it first.
//
// It reads the value from requests and makes the Set-Cookie field, according to the options of a cookie
// (dynamic.Cookie). Names and values are those of Traefik v3, so that clients keep their server when one proxy replaces
// the other: the cookie's default name is derived from the service, and its value from the server's URL or the name of
// the child service. The caller maps values to servers.
package sticky
