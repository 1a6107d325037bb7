// Package forwarded decides which peers are believed about the client of a request, and keeps the headers that identify
// the client and the proxies before this one: X-Forwarded-*, X-Real-Ip and Forwarded (RFC 7239).
//
// A server calls [Policy.ApplyIn] once for each request, before any handler: it removes what an untrusted peer may not
// set, and all hop-by-hop headers (RFC 9110 section 7.6.1), and sets what is known of the connection. [ClientStrategy]
// then reads the client's address from the result. The package has no state between requests and opens no connection.
package forwarded
