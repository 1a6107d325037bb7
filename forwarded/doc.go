// Package forwarded decides which peers are trusted to identify clients, and manages the headers for it: X-Forwarded-*,
// X-Real-Ip and Forwarded (RFC 7239).
//
// A server calls [Policy.ApplyIn] once for each request, before any handler: it removes the managed headers of
// untrusted peers and all hop-by-hop headers (RFC 9110 section 7.6.1), and sets those that describe the connection.
// [ClientStrategy] then reads the client's address from the result.
package forwarded
